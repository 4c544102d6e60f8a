#pragma once
// One file per verb: cmd_<verb>.cc adds its subcommand, whose callback does the work.

namespace CLI {
class App;
}

namespace poslens::cli {

void add_analyze(CLI::App& app);
void add_diff(CLI::App& app);
void add_inspect(CLI::App& app);
void add_merge(CLI::App& app);
void add_metrics(CLI::App& app);
void add_plot(CLI::App& app);
void add_probe(CLI::App& app);
void add_report(CLI::App& app);
void add_reproduce(CLI::App& app);
void add_simulate(CLI::App& app);
void add_theory(CLI::App& app);

}  // namespace poslens::cli
