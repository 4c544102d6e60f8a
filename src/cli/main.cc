// poslens VERB …: the verbs are in cmd_<verb>.cc.

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <new>

#include "cli/commands.h"
#include "cli/options.h"
#include "poslens/error.h"
#include "poslens/version.h"

namespace {

int fail(int code, const std::string& message) {
  std::cerr << "poslens: error: " << message << '\n';
  return code;
}

int run(int argc, char** argv) {
  CLI::App app("Measures where decoder-only Transformers get positional information from.",
               "poslens");
  app.set_version_flag("--version", std::string("poslens ") + poslens::kVersion);
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default(false);
  poslens::cli::add_theory(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    return fail(2, error.what());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  poslens::cli::set_command_line(argc, argv);
  try {
    return run(argc, argv);
  } catch (const poslens::UsageError& error) {
    return fail(2, error.what());
  } catch (const std::bad_alloc&) {
    return fail(1, "not enough memory");
  } catch (const std::exception& error) {
    return fail(1, error.what());
  }
}
