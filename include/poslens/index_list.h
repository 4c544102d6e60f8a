#pragma once
// Lists of layers or positions as text, counted from 0: 0-3,7.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace poslens {

// 0-3,7 -> {0, 1, 2, 3, 7}: ascending and without repeats, each below 65536. Throws UsageError
// naming `option`, the text and `noun`, what is listed: layers.
std::vector<int> parse_index_list(std::string_view text, std::string_view option,
                                  std::string_view noun);

// The text that parse_index_list() takes. indices: ascending.
std::string index_list_text(std::span<const int> indices);

}  // namespace poslens
