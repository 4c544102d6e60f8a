// poslens VERB …: the verbs are in cmd_<verb>.cc.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "poslens/error.h"
#include "poslens/version.h"

namespace {

int fail(int code, std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');  // one line, whatever a name holds
  std::cerr << "poslens: error: " << message << '\n';
  return code;
}

// What was not understood, and what would have been. CLI11 tells the words alone, out of order.
std::string unexpected(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(true);
  const auto verbs = app.get_subcommands();
  if (words.empty() || verbs.empty()) {
    std::string message =
        words.empty() ? "expected a verb, one of" : words[0] + ": expected one of";
    for (const CLI::App* verb : app.get_subcommands({})) message += ' ' + verb->get_name();
    return message;
  }
  std::string message = words[0] + ": not expected after " + verbs[0]->get_name() + "; options are";
  for (const CLI::Option* option : verbs[0]->get_options()) {
    for (const std::string& name : option->get_lnames()) message += " --" + name;
  }
  return message;
}

int run(int argc, char** argv) {
  CLI::App app("Measures where decoder-only Transformers get positional information from.",
               "poslens");
  app.set_version_flag("--version", std::string("poslens ") + poslens::kVersion);
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default(false);
  poslens::cli::add_analyze(app);
  poslens::cli::add_diff(app);
  poslens::cli::add_inspect(app);
  poslens::cli::add_merge(app);
  poslens::cli::add_metrics(app);
  poslens::cli::add_plot(app);
  poslens::cli::add_probe(app);
  poslens::cli::add_report(app);
  poslens::cli::add_reproduce(app);
  poslens::cli::add_simulate(app);
  poslens::cli::add_theory(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    return app.exit(request);
  } catch (const CLI::ExtrasError&) {
    return fail(2, unexpected(app));
  } catch (const CLI::RequiredError& error) {
    const bool unknown = app.get_subcommands().empty() || !app.remaining(true).empty();
    return fail(2, unknown ? unexpected(app) : error.what());
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
