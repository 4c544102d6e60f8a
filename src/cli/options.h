#pragma once
// Options that several verbs share: the same name means the same thing everywhere.

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "poslens/error.h"
#include "poslens/parameter_free.h"

namespace poslens::cli {

// --threads and --quiet; they take effect when the command line has been parsed.
void add_common_options(CLI::App& command);

// --out and --force.
struct OutputOptions {
  std::filesystem::path out;
  bool force = false;
};
void add_output_options(CLI::App& command, OutputOptions& output);

// The whole text as a number. Throws UsageError naming the option, the text and what is expected.
template <typename T>
T parse_number(std::string_view option, std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    const char* expected = std::is_floating_point_v<T> ? "a number"
                           : std::is_signed_v<T>       ? "an integer"
                                                       : "an integer that is not negative";
    throw UsageError(std::string(option) + ' ' + std::string(text) + ": expected " + expected);
  }
  return value;
}

// An option whose value is a number; its range is checked where the value is used. CLI11's own
// conversion would not say what is expected.
template <typename T>
CLI::Option* add_number(CLI::App& command, const std::string& name, T& value,
                        const std::string& help) {
  return command
      .add_option_function<std::string>(
          name, [&value, name](const std::string& text) { value = parse_number<T>(name, text); },
          help)
      ->type_name(std::is_floating_point_v<T> ? "X" : "N")
      ->default_str(CLI::detail::to_string(value));
}

// --n --dim --layers --alpha --alpha-between --markov --norm --score-scale --inputs --input-norm
// --residual --residual-weight --rope --rotary-dim --rope-scaling --alibi --mask.
void add_parameter_free_options(CLI::App& command, ParameterFreeSpec& spec);

// The command line as it was given, for provenance; set by main().
const std::string& command_line();
void set_command_line(int argc, char** argv);

}  // namespace poslens::cli
