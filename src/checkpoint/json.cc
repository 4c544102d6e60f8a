#include "checkpoint/json.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "checkpoint/printable.h"
#include "poslens/error.h"

namespace poslens {

using Json = nlohmann::json;

nlohmann::json parse_json(std::string_view text, const std::string& file_name) {
  constexpr int kDeepest = 64;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto check = [&](int depth, Json::parse_event_t event, const Json& parsed) {
    if (depth > kDeepest) {
      throw Error(
          fmt::format("{}: expected JSON nested at most {} deep, found more", file_name, kDeepest));
    }
    switch (event) {
      case Json::parse_event_t::object_start:
        keys.emplace_back();
        break;
      case Json::parse_event_t::object_end:
        keys.pop_back();
        break;
      case Json::parse_event_t::key: {
        const auto& key = parsed.get_ref<const std::string&>();
        if (keys.back().insert(key).second) break;
        throw Error(fmt::format("{}: key {}: expected each key once, found it twice", file_name,
                                printable(key)));
      }
      default:
        break;
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::exception& exception) {
    throw Error(fmt::format("{}: expected JSON, found {}", file_name, parse_problem(exception)));
  }
}

std::string kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::boolean:
      return "a boolean";
    case Json::value_t::string:
      return "a text";
    case Json::value_t::array:
      return "a list";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return fmt::format("the number {}", value.dump());
    default:
      return "no JSON value";
  }
}

std::string parse_problem(const Json::exception& exception) {
  const std::string_view message = exception.what();
  const auto end = message.find("] ");  // "[json.exception.parse_error.101] parse error at line …"
  return std::string(end == std::string_view::npos ? message : message.substr(end + 2));
}

}  // namespace poslens
