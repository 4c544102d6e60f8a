#include "poslens/config.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "checkpoint/json.h"
#include "checkpoint/printable.h"
#include "poslens/error.h"

namespace poslens {
namespace {

using Json = nlohmann::json;

// Each conversion has a name for messages and gives nothing for a value of another type.
struct Integer {
  using Type = std::int64_t;
  static constexpr std::string_view kName = "an integer";
  static std::optional<Type> from(const Json& value) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{1} << 62)
      return {};
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (!value.is_number_float()) return {};
    const auto number = value.get<double>();
    if (std::abs(number) > 0x1p53 || number != std::trunc(number)) return {};
    return static_cast<std::int64_t>(number);
  }
};

struct Number {
  using Type = double;
  static constexpr std::string_view kName = "a number";
  static std::optional<Type> from(const Json& value) {
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
  }
};

struct Boolean {
  using Type = bool;
  static constexpr std::string_view kName = "a boolean";
  static std::optional<Type> from(const Json& value) {
    return value.is_boolean() ? std::optional(value.get<bool>()) : std::nullopt;
  }
};

struct Text {
  using Type = std::string;
  static constexpr std::string_view kName = "a text";
  static std::optional<Type> from(const Json& value) {
    return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
  }
};

const Json* find(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const Json& demand(const Config& config, std::string_view key, std::string_view expected) {
  const Json* value = find(config.json(), key);
  if (value == nullptr) {
    config.fail(key, expected, config.is_null(key) ? "null" : "no such key");
  }
  return *value;
}

template <typename Conversion>
typename Conversion::Type get(const Config& config, std::string_view key) {
  const Json& value = demand(config, key, Conversion::kName);
  auto result = Conversion::from(value);
  if (!result) config.fail(key, Conversion::kName, kind_of(value));
  return *std::move(result);
}

template <typename Conversion>
std::vector<typename Conversion::Type> get_list(const Config& config, std::string_view key) {
  const std::string expected = fmt::format("a list, each element {}", Conversion::kName);
  const Json& list = demand(config, key, expected);
  if (!list.is_array()) config.fail(key, expected, kind_of(list));
  std::vector<typename Conversion::Type> result;
  for (const Json& value : list) {
    auto element = Conversion::from(value);
    if (!element) {
      config.fail(fmt::format("{}[{}]", key, result.size()), Conversion::kName, kind_of(value));
    }
    result.push_back(*std::move(element));
  }
  return result;
}

}  // namespace

Config::Config(std::shared_ptr<const Json> object, std::string file_name, std::string prefix)
    : object_(std::move(object)), file_name_(std::move(file_name)), prefix_(std::move(prefix)) {}

Config Config::parse(std::string_view text, const std::string& file_name) {
  auto json = std::make_shared<const Json>(parse_json(text, file_name));
  if (!json->is_object()) {
    throw Error(fmt::format("{}: expected an object, found {}", file_name, kind_of(*json)));
  }
  return {std::move(json), file_name, ""};
}

bool Config::has(std::string_view key) const { return find(*object_, key) != nullptr; }

bool Config::is_null(std::string_view key) const {
  const auto found = object_->find(key);
  return found != object_->end() && found->is_null();
}

std::int64_t Config::integer(std::string_view key) const { return get<Integer>(*this, key); }

std::int64_t Config::integer_or(std::string_view key, std::int64_t otherwise) const {
  return has(key) ? integer(key) : otherwise;
}

double Config::number(std::string_view key) const { return get<Number>(*this, key); }

double Config::number_or(std::string_view key, double otherwise) const {
  return has(key) ? number(key) : otherwise;
}

bool Config::boolean(std::string_view key) const { return get<Boolean>(*this, key); }

bool Config::boolean_or(std::string_view key, bool otherwise) const {
  return has(key) ? boolean(key) : otherwise;
}

std::string Config::text(std::string_view key) const { return get<Text>(*this, key); }

std::string Config::text_or(std::string_view key, std::string_view otherwise) const {
  return has(key) ? text(key) : std::string(otherwise);
}

std::vector<std::int64_t> Config::integers(std::string_view key) const {
  return get_list<Integer>(*this, key);
}

std::vector<double> Config::numbers(std::string_view key) const {
  return get_list<Number>(*this, key);
}

std::vector<std::string> Config::texts(std::string_view key) const {
  return get_list<Text>(*this, key);
}

Config Config::object(std::string_view key) const {
  constexpr std::string_view kExpected = "an object";
  const Json& value = demand(*this, key, kExpected);
  if (!value.is_object()) fail(key, kExpected, kind_of(value));
  return {std::shared_ptr<const Json>(object_, &value), file_name_,
          fmt::format("{}{}.", prefix_, key)};
}

std::optional<Config> Config::object_if(std::string_view key) const {
  return has(key) ? std::optional(object(key)) : std::nullopt;
}

std::vector<Config> Config::objects(std::string_view key) const {
  constexpr std::string_view kExpected = "a list, each element an object";
  const Json& list = demand(*this, key, kExpected);
  if (!list.is_array()) fail(key, kExpected, kind_of(list));
  std::vector<Config> result;
  for (const Json& value : list) {
    const std::string place = fmt::format("{}[{}]", key, result.size());
    if (!value.is_object()) fail(place, "an object", kind_of(value));
    result.push_back({std::shared_ptr<const Json>(object_, &value), file_name_,
                      fmt::format("{}{}.", prefix_, place)});
  }
  return result;
}

std::vector<std::string> Config::keys() const {
  std::vector<std::string> names;
  for (const auto& [key, value] : object_->items()) names.push_back(key);
  return names;
}

void Config::fail(std::string_view key, std::string_view expected, std::string_view found) const {
  throw Error(
      fmt::format("{}: {}{}: expected {}, found {}", file_name_, prefix_, key, expected, found));
}

}  // namespace poslens
