#include "cli/measure_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "report/measures_file.h"
#include "report/numbers.h"
#include "report/words.h"

namespace poslens::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Column {
  std::string heading;
  std::string name;  // as in named_estimates()
};
struct Subject {
  std::string name;
  std::vector<Column> columns;
};

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> list = {
      {"decomposition",
       {{"total", "total"},
        {"nonrelative", "nonrelative_share"},
        {"nonkey", "nonkey_share"},
        {"remainder", "remainder_share"},
        {"nearness", "nearness"}}},
      {"order",
       {{"recency", "recency_of_mean"},
        {"rising steps", "rising_steps_of_mean"},
        {"rising rows", "rising_rows_of_mean"}}},
      {"first-key",
       {{"excess", "first_key_excess"},
        {"share", "first_key_share"},
        {"softmax", "softmax_first_key"},
        {"softmax, 64", "softmax_first_key_64"},
        {"sink heads", "sink_heads"},
        {"sink heads, 64", "sink_heads_64"},
        {"attention", "attention_first_key"},
        {"attention, 64", "attention_first_key_64"}}},
      {"attention",
       {{"distance, softmax", "softmax_distance"},
        {"entropy, softmax", "softmax_entropy"},
        {"distance", "attention_distance"},
        {"entropy", "attention_entropy"}}},
      {"rollout",
       {{"key 0, softmax", "softmax_rollout_first_key"},
        {"distance, softmax", "softmax_rollout_distance"},
        {"key 0, residual", "softmax_residual_rollout_first_key"},
        {"distance, residual", "softmax_residual_rollout_distance"},
        {"key 0", "attention_rollout_first_key"},
        {"distance", "attention_rollout_distance"},
        {"key 0, residual", "attention_residual_rollout_first_key"},
        {"distance, residual", "attention_residual_rollout_distance"}}},
      {"mean-field",
       {{"unexplained", "mean_field_unexplained_share"},
        {"alpha", "mean_field_alpha"},
        {"nonrelative", "nonrelative_share"},
        {"nonkey", "nonkey_share"}}},
      {"plain",
       {{"variance", "variance"},
        {"diagonal-normalised", "diagonal_normalised_share"},
        {"nonrelative", "nonrelative_share"}}},
  };
  return list;
}

// nullptr where there is no such measure.
const Estimate* find(const LayerMeasures& layer, const std::string& name) {
  for (const auto& [known, estimate] : named_estimates(layer)) {
    if (known == name) return estimate;
  }
  return nullptr;
}

std::string in_words(const Column& column, const Estimate& estimate) {
  if (column.name.find("_share") != std::string::npos) return percent(estimate);
  return std::isfinite(estimate.value) ? with_error(estimate) : "unknown";
}

// Its lines in a table whose first column is `head`.
std::string lines_of(const LayerMeasures& layer, const std::string& head,
                     const std::vector<Column>& columns) {
  std::string text;
  for (const char* suffix : {"", "_without_first_key"}) {
    std::string line;
    bool any = false;
    for (const Column& column : columns) {
      const Estimate* estimate = find(layer, column.name + suffix);
      any = any || estimate != nullptr;
      line += fmt::format("  {:<21}", estimate == nullptr ? "" : in_words(column, *estimate));
    }
    if (!any) continue;
    line.erase(line.find_last_not_of(' ') + 1);
    text += fmt::format("{:>9}{}\n", *suffix == '\0' ? head : "", line);
  }
  return text;
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(json_number(value));
  return list;
}

Json by_position(const AttentionMeasures& measures) {
  Json json = Json::object();
  for (const auto& [name, curve] : {std::pair("first_key", &measures.first_key_by_position),
                                    std::pair("distance", &measures.distance_by_position),
                                    std::pair("entropy", &measures.entropy_by_position)}) {
    json[name] = {{"value", numbers(curve->values)},
                  {"standard_error", numbers(curve->standard_errors)}};
  }
  return json;
}

void add_by_position(const LayerMeasures& measures, Json& json) {
  json["by_position"] = Json::object();
  for (const auto& [name, attention] :
       {std::pair("softmax", &measures.softmax), std::pair("attention", &measures.attention)}) {
    if (!attention->entropy_by_position.values.empty()) {
      json["by_position"][name] = by_position(*attention);
    }
  }
}

}  // namespace

std::vector<std::string> measure_subjects() {
  std::vector<std::string> names;
  for (const Subject& subject : subjects()) names.push_back(subject.name);
  names.emplace_back(kPositionSubject);
  return names;
}

std::string position_table(const PositionDecoding& decoding) {
  if (decoding.rows.empty()) return {};
  std::string text = fmt::format(
      "one token's position from {}, by a linear fit; {} positions, error at random {:.4g}, "
      "of the middle {:.4g}\n{:>9}  {:<21}  error, positions\n",
      decoding.of_scores ? "its scores in one sample" : "its state in one sequence",
      decoding.positions, decoding.chance, decoding.middle, "layer", "R^2");
  for (const PositionDecoding::Row& row : decoding.rows) {
    text += fmt::format("{:>9}  {:<21}  {}\n",
                        fmt::format("{}{}", row.leaves ? "after " : "", row.layer),
                        with_error(row.r2), with_error(row.error));
  }
  return text;
}

std::string subject_table(const std::string& subject, const std::vector<LayerMeasures>& layers,
                          const std::vector<std::vector<LayerMeasures>>& heads) {
  const auto found = std::find_if(subjects().begin(), subjects().end(),
                                  [&](const Subject& known) { return known.name == subject; });
  if (found == subjects().end()) throw std::logic_error("no such subject: " + subject);
  std::vector<Column> columns;
  for (const Column& column : found->columns) {
    if (std::any_of(layers.begin(), layers.end(), [&](const LayerMeasures& layer) {
          return std::isfinite(find(layer, column.name)->value);
        })) {
      columns.push_back(column);
    }
  }
  if (columns.empty()) return {};
  std::string text = fmt::format("{:>9}", heads.empty() ? "layer" : "layer.head");
  for (const Column& column : columns) text += fmt::format("  {:<21}", column.heading);
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
  for (std::size_t place = 0; place < layers.size(); ++place) {
    text += lines_of(layers[place], std::to_string(layers[place].layer), columns);
    if (heads.empty()) continue;
    for (std::size_t head = 0; head < heads[place].size(); ++head) {
      text +=
          lines_of(heads[place][head], fmt::format("{}.{}", layers[place].layer, head), columns);
    }
  }
  return text;
}

Json all_measures_json(const std::vector<LayerMeasures>& layers,
                       const std::vector<std::vector<LayerMeasures>>& heads) {
  Json json = layers_json(layers);
  for (std::size_t place = 0; place < layers.size(); ++place) {
    add_by_position(layers[place], json[place]);
    if (heads.empty()) continue;
    Json list = layers_json(heads[place]);
    for (std::size_t head = 0; head < heads[place].size(); ++head) {
      list[head]["head"] = head;
      list[head].erase("layer");
      add_by_position(heads[place][head], list[head]);
    }
    json[place]["heads"] = std::move(list);
  }
  return json;
}

}  // namespace poslens::cli
