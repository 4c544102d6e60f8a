#include "report/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "poslens/error.h"

namespace poslens {
namespace {

constexpr std::string_view kHeading = "panel,query,key,score";
constexpr std::string_view kRecencyHeading = "panel,recency";

std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

template <typename Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::vector<PublishedPanel> parse_published(std::string_view csv, const std::string& origin) {
  if (take_until(csv, '\n') != kHeading) {
    throw Error(fmt::format("{}: line 1: expected '{}'", origin, kHeading));
  }
  std::vector<PublishedPanel> panels;
  for (int number = 2; !csv.empty(); ++number) {
    const std::string_view line = take_until(csv, '\n');
    std::string_view rest = line;
    const std::string_view name = take_until(rest, ',');
    PublishedScore score;
    if (name.empty() || !parse(take_until(rest, ','), score.query) ||
        !parse(take_until(rest, ','), score.key) || !parse(rest, score.score) || score.query < 0 ||
        score.key < 0 || !std::isfinite(score.score)) {
      throw Error(fmt::format("{}: line {}: expected panel,query,key,score, found '{}'", origin,
                              number, line));
    }
    const auto panel = std::find_if(panels.begin(), panels.end(),
                                    [&](const PublishedPanel& p) { return p.name == name; });
    if (panel != panels.end()) {
      panel->scores.push_back(score);
    } else {
      panels.push_back({std::string(name), {score}});
    }
  }
  return panels;
}

std::vector<PublishedRecency> parse_published_recency(std::string_view csv,
                                                      const std::string& origin) {
  if (take_until(csv, '\n') != kRecencyHeading) {
    throw Error(fmt::format("{}: line 1: expected '{}'", origin, kRecencyHeading));
  }
  std::vector<PublishedRecency> values;
  for (int number = 2; !csv.empty(); ++number) {
    const std::string_view line = take_until(csv, '\n');
    std::string_view rest = line;
    PublishedRecency value;
    value.panel = take_until(rest, ',');
    if (value.panel.empty() || !parse(rest, value.recency) ||
        !(value.recency >= 0 && value.recency <= 1)) {
      throw Error(
          fmt::format("{}: line {}: expected panel,recency, found '{}'", origin, number, line));
    }
    values.push_back(std::move(value));
  }
  return values;
}

const PublishedPanel& find_panel(const std::vector<PublishedPanel>& panels, std::string_view name) {
  const auto panel = std::find_if(panels.begin(), panels.end(),
                                  [&](const PublishedPanel& p) { return p.name == name; });
  if (panel == panels.end()) throw Error(fmt::format("no published values of panel '{}'", name));
  return *panel;
}

double largest_deviation(const PublishedPanel& panel, MatrixView<const float> map) {
  constexpr double missing = std::numeric_limits<double>::infinity();
  double largest = panel.scores.empty() ? missing : 0;
  for (const PublishedScore& score : panel.scores) {
    const auto query = static_cast<std::size_t>(score.query);
    const auto key = static_cast<std::size_t>(score.key);
    if (query >= map.rows() || key >= map.columns()) return missing;
    const double deviation = std::abs(map(query, key) - score.score);
    if (!std::isfinite(deviation)) return missing;
    largest = std::max(largest, deviation);
  }
  return largest;
}

}  // namespace poslens
