#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "poslens/alibi.h"
#include "poslens/index_list.h"
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

// VALUE[@INDICES],... with indices such as 0-3,7: after an item with an @, a whole number or a
// range goes on with that item's indices.
struct ListedItem {
  std::string value;
  std::optional<std::vector<int>> indices;
};

// What is listed, for messages.
struct Listing {
  const char* option;   // --mask
  const char* value;    // mask
  const char* index;    // layer
  const char* indices;  // LAYERS
};

// Every item that names no indices, one at most, and every item that does. Throws UsageError when
// an index is named twice.
std::vector<ListedItem> parse_items(const std::string& text, const Listing& listing) {
  std::vector<std::string> texts;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) {
    const bool goes_on = item.find_first_not_of("0123456789-") == std::string::npos &&
                         !texts.empty() && texts.back().find('@') != std::string::npos;
    if (goes_on) {
      texts.back() += ',' + item;
    } else {
      texts.push_back(item);
    }
  }
  std::vector<ListedItem> items;
  std::set<int> named;
  for (const std::string& item : texts) {
    const std::size_t at = item.find('@');
    items.push_back({item.substr(0, at), std::nullopt});
    if (at == std::string::npos) continue;
    items.back().indices =
        parse_index_list(item.substr(at + 1), listing.option, fmt::format("{}s", listing.index));
    for (const int index : *items.back().indices) {
      if (named.insert(index).second) continue;
      throw UsageError(fmt::format("{} {}: expected one {} a {}, found two for {} {}",
                                   listing.option, text, listing.value, listing.index,
                                   listing.index, index));
    }
  }
  const auto everywhere = std::count_if(items.begin(), items.end(),
                                        [](const ListedItem& item) { return !item.indices; });
  if (everywhere > 1) {
    throw UsageError(fmt::format("{} {}: expected one {} without @{} at most", listing.option, text,
                                 listing.value, listing.indices));
  }
  return items;
}

// MASK[@LAYERS],...
void parse_masks(const std::string& text, ParameterFreeSpec& spec) {
  spec.mask = {};
  spec.layer_masks.clear();
  const auto items = parse_items(text, {"--mask", "mask", "layer", "LAYERS"});
  if (items.empty()) Mask::parse(text);  // says what is expected
  for (const ListedItem& item : items) {
    const Mask mask = Mask::parse(item.value);
    if (!item.indices) spec.mask = mask;
    for (const int layer : item.indices.value_or(std::vector<int>())) {
      spec.layer_masks[layer] = mask;
    }
  }
}

// ALPHA[@POSITIONS],...
void parse_alpha(const std::string& text, ParameterFreeSpec& spec) {
  spec.alpha = 0;
  spec.token_groups.clear();
  const auto items = parse_items(text, {"--alpha", "alpha", "position", "POSITIONS"});
  if (items.empty()) parse_number<double>("--alpha", text);  // says what is expected
  for (const ListedItem& item : items) {
    const auto alpha = parse_number<double>("--alpha", item.value);
    if (item.indices) {
      spec.token_groups.push_back({alpha, *item.indices});
    } else {
      spec.alpha = alpha;
    }
  }
  // The same run in whatever order its groups are given.
  std::sort(spec.token_groups.begin(), spec.token_groups.end(),
            [](const TokenGroup& a, const TokenGroup& b) { return a.positions < b.positions; });
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
  command
      .add_option_function<std::string>(
          "--alpha", [&spec](const std::string& text) { parse_alpha(text, spec); },
          "Mean inner product of two unit inputs, 0 <= alpha < 1; by groups of tokens: "
          "0.2@0-24,0.6@25-49, where tokens that are not named are one more group, of the alpha "
          "without @ (default 0)")
      ->type_name("ALPHA[@POSITIONS],...");
  add_number(
      command, "--alpha-between", spec.alpha_between,
      "With groups of tokens: alpha of tokens in different groups, up to the smallest of the "
      "groups' own");
  add_number(command, "--markov", spec.markov,
             "rho of Markov inputs, -1 < rho < 1: inner products of unit inputs are rho^|i-j|; 0: "
             "none");
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
