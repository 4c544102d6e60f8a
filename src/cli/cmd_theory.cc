#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "poslens/atomic_file.h"
#include "poslens/theory.h"

namespace poslens::cli {

void add_theory(CLI::App& app) {
  struct Options {
    ParameterFreeSpec spec;
    OutputOptions output;
    bool closed_form = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("theory", "Closed form and mean field -> artefact");
  command->footer("Example:\n  poslens theory --n 50 --alpha 0.2 --layers 4 --out mean-field.npz");
  add_parameter_free_options(*command, options->spec);
  command
      ->add_flag("--closed-form", options->closed_form,
                 "The second layer (1, counted from 0) in closed form instead of the mean field")
      ->excludes("--layers");
  add_output_options(*command, options->output);
  add_common_options(*command);
  command->callback([options] {
    options->spec.validate();
    check_output(options->output.out, options->output.force);
    if (options->closed_form) options->spec.layer_count = 2;  // it ends with the second layer
    ScoreMap map =
        options->closed_form ? closed_form_map(options->spec) : mean_field_map(options->spec);
    map.provenance.command_line = command_line();
    save(map, options->output.out);
  });
}

}  // namespace poslens::cli
