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

// Counts over the rows of one map; a tie counts one of two.
struct Counts {
  std::uint64_t twice_pairs = 0, twice_rising = 0;
  std::uint64_t twice_steps = 0, twice_rising_steps = 0;
  std::uint64_t rows = 0, rising_rows = 0;

  // keys of a row, the pairs and steps of them that rise (twice), and whether all steps rise
  // strictly.
  void add(std::uint64_t keys, std::uint64_t twice_pairs_up, std::uint64_t twice_steps_up,
           bool strict) {
    if (keys < 2) return;
    twice_pairs += keys * (keys - 1);
    twice_rising += twice_pairs_up;
    twice_steps += 2 * (keys - 1);
    twice_rising_steps += twice_steps_up;
    ++rows;
    rising_rows += strict ? 1 : 0;
  }
};

std::uint64_t twice_up(float earlier, float later) {
  return (later > earlier ? 1U : 0U) + (later >= earlier ? 1U : 0U);
}

// Adds a row to the counts of all its keys, and, where the first of them is key 0, to those of the
// others. Sorts the row.
void count(std::vector<float>& row, bool has_first, PairCounter& counter, Counts& all,
           Counts& rest) {
  const float first = row[0];
  std::uint64_t pairs_up = 0;  // of the first key with the others
  std::uint64_t steps_up = 0;  // of the others
  bool strict = true;
  for (std::size_t j = 1; j < row.size(); ++j) pairs_up += twice_up(first, row[j]);
  for (std::size_t j = 2; j < row.size(); ++j) {
    steps_up += twice_up(row[j - 1], row[j]);
    strict = strict && row[j] > row[j - 1];
  }
  const std::uint64_t first_step = twice_up(first, row[1]);
  row.erase(row.begin());
  const std::uint64_t keys = row.size();
  const std::uint64_t others_up = counter.twice_rising(row);
  all.add(keys + 1, pairs_up + others_up, first_step + steps_up, strict && first_step == 2);
  if (has_first) {
    rest.add(keys, others_up, steps_up, strict);
  } else {
    rest.add(keys + 1, pairs_up + others_up, first_step + steps_up, strict && first_step == 2);
  }
}

KeyOrder estimates(const std::vector<Counts>& counts) {
  const auto share = [&](std::uint64_t Counts::*part, std::uint64_t Counts::*whole) {
    std::vector<double> values;
    values.reserve(counts.size());
    for (const Counts& of : counts) {
      values.push_back(static_cast<double>(of.*part) / static_cast<double>(of.*whole));
    }
    return Replicas::estimate(values);
  };
  return {share(&Counts::twice_rising, &Counts::twice_pairs),
          share(&Counts::twice_rising_steps, &Counts::twice_steps),
          share(&Counts::rising_rows, &Counts::rows)};
}

KeyOrders both(const std::vector<MatrixView<const float>>& parts) {
  const Triangle triangle = find_triangle(parts);
  const Replicas replicas(parts);
  std::vector<Counts> all(replicas.count());
  std::vector<Counts> rest(replicas.count());
  PairCounter counter;
  std::vector<float> row;
  for (std::size_t replica = 0; replica < replicas.count(); ++replica) {
    for (std::size_t i = 2; i < static_cast<std::size_t>(triangle.n); ++i) {
      const auto first = static_cast<std::size_t>(triangle.first_key(static_cast<std::int64_t>(i)));
      replicas.row(replica, i, first, i, row);
      count(row, first == 0, counter, all[replica], rest[replica]);
    }
  }
  return {estimates(all), estimates(rest)};
}

}  // namespace

KeyOrder key_order(const std::vector<MatrixView<const float>>& groups, Support support) {
  return both(scored_part(groups, support)).all_keys;
}

KeyOrders key_orders(const std::vector<MatrixView<const float>>& groups) {
  scored_part(groups, {1});  // are there enough positions?
  return both(groups);
}

}  // namespace poslens
