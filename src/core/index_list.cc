#include "poslens/index_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "poslens/error.h"

namespace poslens {

std::vector<int> parse_index_list(std::string_view text, std::string_view option,
                                  std::string_view noun) {
  constexpr int kMost = 1 << 16;
  const auto fail = [&] {
    throw UsageError(fmt::format("{} {}: expected a list of {} such as 0-3,7, from 0 to {}", option,
                                 text, noun, kMost - 1));
  };
  const auto number = [&](std::string_view digits) {
    int value = 0;
    const bool only_digits =
        !digits.empty() &&
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (!only_digits || error != std::errc{} || value >= kMost) fail();
    return value;
  };
  std::set<int> indices;
  std::string_view rest = text;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
    const std::size_t dash = item.find('-');
    const int first = number(item.substr(0, dash));
    const int last = dash == std::string_view::npos ? first : number(item.substr(dash + 1));
    if (last < first) fail();
    for (int index = first; index <= last; ++index) indices.insert(index);
  }
  return {indices.begin(), indices.end()};
}

std::string index_list_text(std::span<const int> indices) {
  std::string text;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t last = i;
    while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", indices[i]);
    if (last != i) text += fmt::format("-{}", indices[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace poslens
