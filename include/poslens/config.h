#pragma once
// config.json of a Hugging Face model folder: keys with a type that is checked when they are read.

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace poslens {

// An object of the file: the whole or, through object(), one nested in it. Copies are cheap and
// share the text. A value of null counts as absent except for is_null(), because in some families
// only a key that is not there means the class default. Getters throw Error naming the file, the
// key with those above it ("rope_parameters.full_attention.factor"), what was expected and what was
// found; the forms with `otherwise` take it when the key is absent, never when it is of another
// type.
class Config {
 public:
  // Throws Error unless text is one JSON object, nested at most 64 deep, without a key given twice.
  static Config parse(std::string_view text, const std::string& file_name);

  bool has(std::string_view key) const;      // there, and not null
  bool is_null(std::string_view key) const;  // there, and null

  // An integer may be written 4096.0.
  std::int64_t integer(std::string_view key) const;
  std::int64_t integer_or(std::string_view key, std::int64_t otherwise) const;
  double number(std::string_view key) const;
  double number_or(std::string_view key, double otherwise) const;
  bool boolean(std::string_view key) const;
  bool boolean_or(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key) const;
  std::string text_or(std::string_view key, std::string_view otherwise) const;
  std::vector<std::int64_t> integers(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  Config object(std::string_view key) const;
  std::optional<Config> object_if(std::string_view key) const;  // nothing when absent
  std::vector<Config> objects(std::string_view key) const;      // a list of objects

  std::vector<std::string> keys() const;  // sorted; those that are null too
  const nlohmann::json& json() const { return *object_; }

  // Throws Error that "<file>: <key>: expected <expected>, found <found>".
  [[noreturn]] void fail(std::string_view key, std::string_view expected,
                         std::string_view found) const;

 private:
  Config(std::shared_ptr<const nlohmann::json> object, std::string file_name, std::string prefix);

  std::shared_ptr<const nlohmann::json> object_;
  std::string file_name_;
  std::string prefix_;  // of keys in messages: "" or "rope_parameters."
};

}  // namespace poslens
