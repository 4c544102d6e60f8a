#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "cli/commands.h"
#include "cli/model_options.h"
#include "poslens/checkpoint.h"
#include "poslens/error.h"
#include "poslens/hub_cache.h"
#include "poslens/intervention.h"
#include "poslens/model_spec.h"
#include "poslens/tokenizer.h"

namespace poslens::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TypeCount {
  std::int64_t tensors = 0;
  std::int64_t parameters = 0;
  std::int64_t bytes = 0;
};

// What could be found out without running the model.
struct Findings {
  std::unique_ptr<Checkpoint> checkpoint;
  std::map<TensorType, TypeCount> types;
  std::int64_t parameters = 0;
  std::optional<ModelSpec> spec;     // with what was changed
  std::vector<std::string> changes;  // in words
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<std::string> unsupported;
};

Findings inspect(const std::filesystem::path& path,
                 const std::vector<Intervention>& interventions) {
  Findings findings;
  findings.checkpoint = Checkpoint::open(path);
  for (const TensorEntry& tensor : findings.checkpoint->tensors()) {
    TypeCount& count = findings.types[tensor.type];
    ++count.tensors;
    count.parameters += tensor.elements();
    count.bytes += std::ssize(tensor.bytes);
    findings.parameters += tensor.elements();
  }
  try {
    findings.spec = read_model_spec(*findings.checkpoint);
  } catch (const Error& error) {
    findings.unsupported.emplace_back(error.what());
  }
  if (findings.spec) {
    for (const Intervention& intervention : interventions) {
      findings.changes.push_back(describe(intervention, *findings.spec));
    }
    findings.spec = poslens::apply(*findings.spec, interventions);
  }
  try {
    findings.tokenizer = Tokenizer::open(*findings.checkpoint);
  } catch (const Error& error) {
    findings.unsupported.emplace_back(error.what());
  }
  return findings;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// What the file itself calls the kind of model; "-" when it says nothing.
std::string architecture_of(const Checkpoint& checkpoint) {
  const Config* config = checkpoint.config();
  return config == nullptr ? checkpoint.text_or("general.architecture", "-")
                           : config->text_or("model_type", "-");
}

Json to_json(const Findings& findings) {
  const Checkpoint& checkpoint = *findings.checkpoint;
  Json json;
  json["file"] = checkpoint.path().string();
  json["format"] = checkpoint.format();
  json["fingerprint"] = checkpoint.fingerprint();
  json["name"] = checkpoint.name();
  json["architecture"] = architecture_of(checkpoint);
  json["parameters"] = findings.parameters;
  json["tensor_types"] = Json::object();
  for (const auto& [type, count] : findings.types) {
    json["tensor_types"][to_string(type)] = {
        {"tensors", count.tensors}, {"parameters", count.parameters}, {"bytes", count.bytes}};
  }
  json["model"] = nullptr;
  if (findings.spec) {
    const ModelSpec& spec = *findings.spec;
    json["model"] = {{"family", spec.family},
                     {"layers", spec.layers.size()},
                     {"hidden", spec.hidden},
                     {"vocabulary", spec.vocabulary},
                     {"context_length", spec.context_length},
                     {"changes", findings.changes},
                     {"description", lines_of(describe(spec))}};
  }
  json["tokenizer"] = nullptr;
  if (const Tokenizer* tokenizer = findings.tokenizer.get(); tokenizer != nullptr) {
    json["tokenizer"] = {{"kind", tokenizer->kind()},
                         {"pre_tokenizer", tokenizer->pre_tokenizer()},
                         {"vocabulary", tokenizer->vocabulary_size()},
                         {"adds_bos", tokenizer->adds_bos()},
                         {"adds_eos", tokenizer->bos_rule().adds_eos},
                         {"bos_rule", tokenizer->bos_rule().source},
                         {"bos", nullptr}};
    if (tokenizer->bos()) json["tokenizer"]["bos"] = *tokenizer->bos();
  }
  json["unsupported"] = findings.unsupported;
  return json;
}

std::string in_words(const Findings& findings) {
  const Checkpoint& checkpoint = *findings.checkpoint;
  std::string text = fmt::format(
      "file         {}\nformat       {}\nfingerprint  {}\nname         {}\narchitecture {}\n"
      "parameters   {}\n",
      checkpoint.path().string(), checkpoint.format(), checkpoint.fingerprint(), checkpoint.name(),
      architecture_of(checkpoint), findings.parameters);
  for (const auto& [type, count] : findings.types) {
    text += fmt::format("  {:<10} {} tensors, {} parameters, {} bytes\n", to_string(type),
                        count.tensors, count.parameters, count.bytes);
  }
  if (findings.spec) {
    text += "model\n";
    for (const std::string& line : lines_of(describe(*findings.spec))) text += "  " + line + '\n';
    for (const std::string& change : findings.changes) text += "changed      " + change + '\n';
  }
  if (const Tokenizer* tokenizer = findings.tokenizer.get(); tokenizer != nullptr) {
    const BosRule& rule = tokenizer->bos_rule();
    text += fmt::format("tokenizer\n  {}, {} tokens, pre-tokenizer {}\n  ", tokenizer->kind(),
                        tokenizer->vocabulary_size(), tokenizer->pre_tokenizer());
    text += rule.bos ? fmt::format("BOS is token {}; ", *rule.bos) : "no BOS token; ";
    text += rule.adds_bos ? "the file adds it in front of every document" : "the file adds none";
    text += fmt::format(" ({})\n", rule.source);
    if (rule.adds_eos) text += "  the file adds EOS behind a document, where no sequence reaches\n";
  }
  for (const std::string& reason : findings.unsupported) text += "unsupported  " + reason + '\n';
  return text;
}

}  // namespace

void add_inspect(CLI::App& app) {
  struct Options {
    std::string model;
    std::vector<Intervention> interventions;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "inspect", "What a model file is, what was understood, what is unsupported; never runs it");
  command->footer("Example:\n  poslens inspect model.gguf");
  add_model_argument(*command, options->model);
  add_intervene_option(*command, options->interventions);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] {
    const Findings findings = inspect(find_model(options->model), options->interventions);
    if (options->json) {
      std::cout << to_json(findings).dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    } else {
      std::cout << in_words(findings);
    }
  });
}

}  // namespace poslens::cli
