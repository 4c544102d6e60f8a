#include "cli/model_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/options.h"
#include "poslens/error.h"

namespace poslens::cli {
namespace {

ComputeType parse_dtype(const std::string& text) {
  for (const ComputeType type : {ComputeType::f32, ComputeType::bf16}) {
    if (to_string(type) == text) return type;
  }
  throw UsageError("--dtype " + text + ": expected f32 or bf16");
}

// 512MiB, 4GiB, 2GB, 1.5GiB.
std::int64_t parse_memory(const std::string& text) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
      {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12}};
  constexpr double kLeast = 0x1p24, kMost = 0x1p50;
  for (const auto& [unit, bytes] : kUnits) {
    if (!text.ends_with(unit)) continue;
    double number = 0;
    const char* last = text.data() + text.size() - unit.size();
    const auto [end, error] = std::from_chars(text.data(), last, number);
    const double size = number * bytes;
    if (error == std::errc{} && end == last && size >= kLeast && size <= kMost) {
      return std::llround(size);
    }
  }
  throw UsageError("--memory " + text + ": expected a size of 16MiB to 1024TiB, such as 4GiB");
}

}  // namespace

void ModelOptions::validate() const {
  corpus.validate();
  if (decoder.groups < 1 || decoder.groups > corpus.sequences) {
    throw UsageError("--groups " + std::to_string(decoder.groups) + ": expected 1 to " +
                     std::to_string(corpus.sequences) + ", the number of sequences");
  }
  if (decoder.pool < 1 || decoder.pool > corpus.length) {
    throw UsageError("--pool " + std::to_string(decoder.pool) + ": expected 1 to " +
                     std::to_string(corpus.length) + ", the length of a sequence");
  }
  decoder.validate_decode(corpus.length, corpus.sequences);
}

void add_intervene_option(CLI::App& command, std::vector<Intervention>& interventions) {
  command
      .add_option_function<std::vector<std::string>>(
          "--intervene",
          [&interventions](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              interventions.push_back(parse_intervention(text));
            }
          },
          "Change the model: rope=none@2-5, position=none, rope=theta:1e6, mask=full@0, "
          "mask=window:128, mask=prefix:16, positions=+1000, bos=none; repeatable")
      ->expected(1)
      ->take_all()
      ->type_name("SPEC");
}

std::string changes_in_words(const Provenance& provenance) {
  if (provenance.changes.empty()) return "";
  return fmt::format(", changed: {}", fmt::join(provenance.changes, "; "));
}

void add_model_argument(CLI::App& command, std::string& model) {
  command
      .add_option("MODEL", model,
                  "GGUF file, Hugging Face folder, .safetensors file beside its config.json, or "
                  "org/name[@revision] of a model in the Hugging Face cache")
      ->required()
      ->type_name("FILE|DIR|ID");
}

void add_run_options(CLI::App& command, CorpusOptions& corpus, DecoderOptions& decoder) {
  command
      .add_option("--text", corpus.text,
                  "A .txt file, a .jsonl file with a `text` field, or a folder of them")
      ->type_name("FILE|DIR");
  command.add_option("--tokens", corpus.tokens, R"(Token ids, {"tokens": [[...], ...]})")
      ->type_name("FILE");
  add_number(command, "--length", corpus.length, "Tokens of a sequence");
  add_number(command, "--sequences", corpus.sequences, "Sequences");
  command
      .add_option_function<std::string>(
          "--cut", [&corpus](const std::string& text) { corpus.cut = parse_cut(text); },
          "start: the first tokens of each document; windows: consecutive windows of it; automatic "
          "(default): windows for a single .txt, start otherwise")
      ->type_name("CUT");
  command
      .add_option_function<std::string>(
          "--layers",
          [&decoder](const std::string& text) { decoder.layers = parse_layers(text, "--layers"); },
          "Layers to keep, counted from 0 (default all); the run stops after the last")
      ->type_name("0-3,7");
  command
      .add_option_function<std::string>(
          "--dtype",
          [&decoder](const std::string& text) { decoder.compute_type = parse_dtype(text); },
          "Type of matrix products: f32 or bf16 (default " + to_string(decoder.compute_type) + ")")
      ->type_name("TYPE");
  add_number(command, "--groups", decoder.groups,
             "Keep the means of that many interleaved groups of sequences");
  command
      .add_option_function<std::string>(
          "--memory",
          [&decoder](const std::string& text) { decoder.memory_bytes = parse_memory(text); },
          "How much memory to take at most, beside the mapped model and 32 MiB for the program "
          "itself "
          "(default 4GiB)")
      ->type_name("SIZE");
}

void add_model_options(CLI::App& command, ModelOptions& options) {
  add_model_argument(command, options.model);
  add_run_options(command, options.corpus, options.decoder);
  add_number(command, "--seed", options.seed, "Seed of the shuffle");
}

}  // namespace poslens::cli
