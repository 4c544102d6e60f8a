#include "poslens/key_order.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "metrics/replicas.h"
#include "metrics/triangle.h"

namespace poslens {
namespace {

// Counts pairs of a row in which the later score is higher, by merge sort: when an element of the
// right half is merged, those of the left half before it are the lower ones.
class PairCounter {
 public:
  // Twice the rising pairs, ties counting half each. Sorts the row.
  std::uint64_t twice_rising(std::vector<float>& row) {
    buffer_.resize(row.size());
    std::uint64_t rising = sort_blocks(row);
    for (std::size_t width = kBlock; width < row.size(); width *= 2) {
      for (std::size_t left = 0; left < row.size(); left += 2 * width) {
        const std::size_t middle = std::min(left + width, row.size());
        rising += merge(row, left, middle, std::min(left + 2 * width, row.size()));
      }
      row.swap(buffer_);
    }
    return 2 * rising + ties(row);
  }

 private:
  static constexpr std::size_t kBlock = 8;

  // Insertion sort: an element passes those that are not lower.
  static std::uint64_t sort_blocks(std::vector<float>& row) {
    std::uint64_t rising = 0;
    for (std::size_t left = 0; left < row.size(); left += kBlock) {
      const std::size_t right = std::min(left + kBlock, row.size());
      for (std::size_t k = left + 1; k < right; ++k) {
        const float score = row[k];
        std::size_t place = k;
        for (; place > left && row[place - 1] >= score; --place) row[place] = row[place - 1];
        row[place] = score;
        rising += place - left;
      }
    }
    return rising;
  }

  std::uint64_t merge(const std::vector<float>& row, std::size_t left, std::size_t middle,
                      std::size_t right) {
    std::uint64_t rising = 0;
    std::size_t a = left;
    std::size_t b = middle;
    std::size_t out = left;
    while (a < middle && b < right) {
      const bool lower = row[a] < row[b];  // without a branch: it could not be predicted
      buffer_[out++] = lower ? row[a] : row[b];
      rising += lower ? 0 : a - left;
      a += lower ? 1 : 0;
      b += lower ? 0 : 1;
    }
    rising += static_cast<std::uint64_t>(right - b) * (middle - left);
    std::copy(row.begin() + static_cast<std::ptrdiff_t>(b),
              row.begin() + static_cast<std::ptrdiff_t>(right),
              std::copy(row.begin() + static_cast<std::ptrdiff_t>(a),
                        row.begin() + static_cast<std::ptrdiff_t>(middle),
                        buffer_.begin() + static_cast<std::ptrdiff_t>(out)));
    return rising;
  }

  // Equal pairs of a sorted row.
  static std::uint64_t ties(const std::vector<float>& row) {
    std::uint64_t pairs = 0;
    std::uint64_t equal = 0;
    for (std::size_t k = 1; k < row.size(); ++k) {
      equal = row[k] == row[k - 1] ? equal + 1 : 0;
      pairs += equal;
    }
    return pairs;
  }

  std::vector<float> buffer_;
};

}  // namespace

KeyOrder key_order(const std::vector<MatrixView<const float>>& groups, Support support) {
  const std::vector<MatrixView<const float>> parts = scored_part(groups, support);
  const Triangle triangle = find_triangle(parts);
  const Replicas replicas(parts);
  std::vector<double> recency(replicas.count());
  std::vector<double> steps(replicas.count());
  std::vector<double> rows(replicas.count());
  PairCounter counter;
  std::vector<float> row;
  for (std::size_t replica = 0; replica < replicas.count(); ++replica) {
    std::uint64_t twice_pairs = 0;
    std::uint64_t twice_rising = 0;
    std::uint64_t all_steps = 0;
    std::uint64_t twice_rising_steps = 0;
    std::uint64_t rising_rows = 0;
    for (std::size_t i = 2; i < static_cast<std::size_t>(triangle.n); ++i) {
      const auto first = static_cast<std::size_t>(triangle.first_key(static_cast<std::int64_t>(i)));
      replicas.row(replica, i, first, i, row);
      std::size_t strict = 0;
      for (std::size_t j = 1; j < row.size(); ++j) {
        strict += row[j] > row[j - 1] ? 1 : 0;
        twice_rising_steps += (row[j] > row[j - 1] ? 1 : 0) + (row[j] >= row[j - 1] ? 1 : 0);
      }
      all_steps += row.size() - 1;
      rising_rows += strict == row.size() - 1 ? 1 : 0;
      twice_pairs += row.size() * (row.size() - 1);
      twice_rising += counter.twice_rising(row);
    }
    const auto share = [](std::uint64_t part, std::uint64_t whole) {
      return static_cast<double>(part) / static_cast<double>(whole);
    };
    recency[replica] = share(twice_rising, twice_pairs);
    steps[replica] = share(twice_rising_steps, 2 * all_steps);
    rows[replica] = share(rising_rows, static_cast<std::uint64_t>(triangle.n - 2));
  }
  return {Replicas::estimate(recency), Replicas::estimate(steps), Replicas::estimate(rows)};
}

}  // namespace poslens
