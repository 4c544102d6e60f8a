// meta.json of an artefact.
#include "maps/meta.h"

#include <nlohmann/json.hpp>

#include "poslens/error.h"

namespace poslens {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "poslens/1";

// Each text field of Provenance and its key, once for both directions.
constexpr std::pair<const char*, std::string Provenance::*> kTexts[] = {
    {"averaging", &Provenance::averaging},
    {"engine", &Provenance::engine},
    {"model", &Provenance::model},
    {"model_fingerprint", &Provenance::model_fingerprint},
    {"bos_policy", &Provenance::bos_policy},
    {"text", &Provenance::text},
    {"text_fingerprint", &Provenance::text_fingerprint},
    {"program", &Provenance::program},
    {"command_line", &Provenance::command_line},
};
constexpr std::pair<const char*, std::vector<std::string> Provenance::*> kLists[] = {
    {"interventions", &Provenance::interventions},
    {"changes", &Provenance::changes},
};
constexpr std::pair<const char*, std::int64_t Provenance::*> kNumbers[] = {
    {"documents_used", &Provenance::documents_used},
    {"documents_skipped", &Provenance::documents_skipped},
    {"peak_memory_bytes", &Provenance::peak_memory_bytes},
};

template <typename Enum, std::size_t N>
Enum parse_enum(const Json& json, const char* key, const Enum (&values)[N]) {
  const std::string text = json.at(key).get<std::string>();
  for (const Enum value : values) {
    if (to_string(value) == text) return value;
  }
  throw Error(std::string(key) + ": unknown value '" + text + "'");
}

}  // namespace

std::string to_string(Source source) {
  switch (source) {
    case Source::theory:
      return "theory";
    case Source::simulation:
      return "simulation";
    case Source::model:
      break;
  }
  return "model";
}

std::string to_string(Stage stage) {
  switch (stage) {
    case Stage::raw:
      return "raw";
    case Stage::scaled:
      return "scaled";
    case Stage::capped:
      return "capped";
    case Stage::biased:
      break;
  }
  return "biased";
}

std::string meta_json(const ScoreMap& map) {
  const Provenance& provenance = map.provenance;
  Json json;
  json["schema"] = kSchema;
  json["source"] = to_string(map.source);
  json["stage"] = to_string(map.stage);
  if (map.pool > 1) {
    json["pool"] = map.pool;
    json["positions"] = map.pooled_positions;
  }
  for (const auto& [key, field] : kTexts) {
    if (!(provenance.*field).empty()) json[key] = provenance.*field;
  }
  if (map.source == Source::model) {
    for (const auto& [key, field] : kLists) json[key] = provenance.*field;
    for (const auto& [key, field] : kNumbers) json[key] = provenance.*field;
  }
  json["options"] = Json::object();
  for (const auto& [name, value] : provenance.options) json["options"][name] = value;
  json["seed"] = provenance.seed;
  json["seconds"] = provenance.seconds;
  json["peak_memory_bytes"] = provenance.peak_memory_bytes;
  // Not strict: a path may hold bytes that are no UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void read_meta(std::string_view text, ScoreMap& map) {
  try {
    const Json json = Json::parse(text);
    if (json.at("schema") != kSchema) {
      throw Error("schema: expected " + std::string(kSchema) + ", found " +
                  json.at("schema").dump());
    }
    map.source = parse_enum(json, "source", {Source::theory, Source::simulation, Source::model});
    map.stage =
        parse_enum(json, "stage", {Stage::raw, Stage::scaled, Stage::capped, Stage::biased});
    if (json.contains("pool")) {
      map.pool = json.at("pool").get<std::int64_t>();
      map.pooled_positions = json.at("positions").get<std::int64_t>();
      constexpr std::int64_t kMost = std::int64_t{1} << 40;
      if (map.pool < 2 || map.pool > map.pooled_positions || map.pooled_positions > kMost) {
        throw Error("pool: expected a whole number from 2 to `positions`, found " +
                    std::to_string(map.pool));
      }
    }
    Provenance& provenance = map.provenance;
    for (const auto& [key, field] : kTexts) {
      if (json.contains(key)) provenance.*field = json.at(key).get<std::string>();
    }
    for (const auto& [key, field] : kNumbers) {
      if (json.contains(key)) provenance.*field = json.at(key).get<std::int64_t>();
    }
    for (const auto& [key, field] : kLists) {
      if (json.contains(key)) provenance.*field = json.at(key).get<std::vector<std::string>>();
    }
    for (const auto& [name, value] : json.at("options").items()) {
      provenance.options.emplace_back(name, value.get<std::string>());
    }
    provenance.seed = json.at("seed").get<std::uint64_t>();
    provenance.seconds = json.at("seconds").get<double>();
  } catch (const Json::exception& error) {
    throw Error(std::string("expected the JSON of schema poslens/1: ") + error.what());
  }
}

}  // namespace poslens
