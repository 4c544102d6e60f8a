#pragma once
// Options that several verbs share: the same name means the same thing everywhere.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

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

// --n --dim --layers --alpha --norm --score-scale --inputs --input-norm --residual --rope --mask.
void add_parameter_free_options(CLI::App& command, ParameterFreeSpec& spec);

// The command line as it was given, for provenance; set by main().
const std::string& command_line();
void set_command_line(int argc, char** argv);

}  // namespace poslens::cli
