#include "cli/options.h"

#include <cmath>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "poslens/alibi.h"
#include "poslens/intervention.h"
#include "poslens/progress.h"
#include "poslens/threads.h"

namespace poslens::cli {
namespace {

std::string& stored_command_line() {
  static std::string line;
  return line;
}

std::optional<double> parse_rope(const std::string& text) {
  if (text == "none") return std::nullopt;
  const auto theta = parse_number<double>("--rope", text);
  if (!(theta > 0) || !std::isfinite(theta)) {
    throw UsageError("--rope " + text + ": expected none or a positive number (theta)");
  }
  return theta;
}

std::optional<double> parse_alibi(const std::string& text) {
  if (text == "none") return std::nullopt;
  if (!text.starts_with("head:")) return parse_number<double>("--alibi", text);
  const std::size_t slash = text.find('/');
  const auto refuse = [&] {
    return UsageError("--alibi " + text + ": expected head:H/N with 0 <= H < N <= 1024");
  };
  if (slash == std::string::npos) throw refuse();
  const auto head = parse_number<int>("--alibi", text.substr(5, slash - 5));
  const auto heads = parse_number<int>("--alibi", text.substr(slash + 1));
  if (head < 0 || head >= heads || heads > 1024) throw refuse();
  return alibi_slopes(heads)[static_cast<std::size_t>(head)];
}

// MASK[@LAYERS],... with LAYERS such as 0-3,7: an item that starts with a digit goes on with the
// layers of the one before.
void parse_masks(const std::string& text, ParameterFreeSpec& spec) {
  std::vector<std::string> items;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) {
    const bool layers = !item.empty() && item[0] >= '0' && item[0] <= '9';
    if (layers && !items.empty() && items.back().find('@') != std::string::npos) {
      items.back() += ',' + item;
    } else {
      items.push_back(item);
    }
  }
  std::optional<Mask> everywhere;
  std::map<int, Mask> layer_masks;
  for (const std::string& item : items) {
    const std::size_t at = item.find('@');
    const Mask mask = Mask::parse(item.substr(0, at));
    if (at == std::string::npos) {
      if (everywhere) {
        throw UsageError("--mask " + text + ": expected one mask without @LAYERS at most");
      }
      everywhere = mask;
      continue;
    }
    for (const int layer : parse_layers(item.substr(at + 1), "--mask")) {
      if (!layer_masks.emplace(layer, mask).second) {
        throw UsageError("--mask " + text + ": expected one mask a layer, found two for layer " +
                         std::to_string(layer));
      }
    }
  }
  if (items.empty()) everywhere = Mask::parse(text);  // says what is expected
  spec.mask = everywhere.value_or(Mask{});
  spec.layer_masks = std::move(layer_masks);
}

}  // namespace

void add_common_options(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--threads",
          [](const std::string& text) {
            const int count = parse_number<int>("--threads", text);
            if (count < 1 || count > 1024) {
              throw UsageError("--threads " + text + ": expected 1 to 1024");
            }
            set_thread_count(count);
          },
          "Threads (default: the cores there are)")
      ->type_name("N");
  command.add_flag_callback(
      "--quiet", [] { Progress::set_quiet(true); }, "Show no progress");
}

void add_output_options(CLI::App& command, OutputOptions& output) {
  command.add_option("-o,--out", output.out, "Where the result goes")
      ->required()
      ->type_name("PATH");
  command.add_flag("--force", output.force, "Replace what is there");
}

void add_parameter_free_options(CLI::App& command, ParameterFreeSpec& spec) {
  add_number(command, "--n", spec.n, "Tokens");
  add_number(command, "--dim", spec.dim, "Width d of the residual stream");
  add_number(command, "--layers", spec.layer_count, "Layers");
  add_number(command, "--alpha", spec.alpha,
             "Mean inner product of two unit inputs, 0 <= alpha < 1");
  command
      .add_option_function<std::string>(
          "--norm", [&spec](const std::string& text) { spec.norm = parse_norm(text); },
          "l2, layernorm, rmsnorm or none (default l2)")
      ->type_name("NORM");
  command
      .add_option_function<std::string>(
          "--score-scale",
          [&spec](const std::string& text) { spec.score_scale = parse_score_scale(text); },
          "none, inv-sqrt-dim or inv-dim (default none)")
      ->type_name("SCALE");
  command
      .add_option_function<std::string>(
          "--inputs", [&spec](const std::string& text) { spec.inputs = parse_inputs(text); },
          "sphere: every input has norm X; gaussian: mean square norm X^2 (default sphere)")
      ->type_name("INPUTS");
  add_number(command, "--input-norm", spec.input_norm,
             "X, the norm of the inputs; Gaussian inputs (g + l c)/sqrt(dim), as published, have "
             "X = 1/sqrt(1 - alpha)");
  CLI::Option* residual = command.add_flag_function(
      "--residual,!--no-residual", [&spec](std::int64_t on) { spec.residual = on > 0 ? 1 : 0; },
      "Residual connection, of weight 1 or 0 (default on)");
  add_number(command, "--residual-weight", spec.residual, "r in X <- A Y + r X, 0 to 1000")
      ->excludes(residual);
  command
      .add_option_function<std::string>(
          "--rope", [&spec](const std::string& text) { spec.rope_theta = parse_rope(text); },
          "none, or theta of a rotary encoding (default none)")
      ->type_name("none|THETA");
  add_number(command, "--rotary-dim", spec.rotary_dim,
             "With --rope: only the first N coordinates turn; 0: all");
  command
      .add_option_function<std::string>(
          "--rope-scaling",
          [&spec](const std::string& text) { spec.rope_scaling = RopeScaling::parse(text); },
          "With --rope: none, linear:F, ntk:F, dynamic:F:L, llama3:F:L or yarn:F:L, F the factor "
          "and L the original length (default none)")
      ->type_name("SCALING");
  command
      .add_option_function<std::string>(
          "--alibi", [&spec](const std::string& text) { spec.alibi_slope = parse_alibi(text); },
          "none, the slope of ALiBi, or head:H/N for that of head H (from 0) of N (default none)")
      ->type_name("none|SLOPE|head:H/N");
  command
      .add_option_function<std::string>(
          "--mask", [&spec](const std::string& text) { parse_masks(text, spec); },
          "causal, full, window:W, prefix:K or strided:K (key j <= i, i - j a multiple of K); by "
          "layer: causal@0,full@1-3, where layers that are not named keep the mask without @ "
          "(default causal)")
      ->type_name("MASK[@LAYERS],...");
}

const std::string& command_line() { return stored_command_line(); }

void set_command_line(int argc, char** argv) {
  std::string& line = stored_command_line();
  line.clear();
  for (int i = 0; i < argc; ++i) {
    if (i > 0) line += ' ';
    line += i == 0 ? std::filesystem::path(argv[0]).filename().string() : argv[i];
  }
}

}  // namespace poslens::cli
