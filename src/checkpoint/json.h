#pragma once
// JSON from files that nobody vouches for.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace poslens {

// The value in text. Throws Error naming file_name unless text is JSON in UTF-8 that nests at most
// 64 deep and gives no key of an object twice (which of the two would hold is anybody's guess).
nlohmann::json parse_json(std::string_view text, const std::string& file_name);

// "a text", say, for messages.
std::string kind_of(const nlohmann::json& value);

// The parser's own words on what is wrong with a text, without the library's prefix.
std::string parse_problem(const nlohmann::json::exception& exception);

}  // namespace poslens
