#include "report/measures_file.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "poslens/version.h"
#include "report/numbers.h"
#include "report/over_layers.h"
#include "report/position_file.h"
#include "report/words.h"

namespace poslens {
namespace {

using Json = nlohmann::ordered_json;

// ",NAME,NAME_standard_error" for each.
template <typename Named>
std::string csv_names(const Named& named) {
  std::string text;
  for (const auto& [name, estimate] : named) text += fmt::format(",{0},{0}_standard_error", name);
  return text;
}

template <typename Named>
std::string csv_values(const Named& named) {
  std::string text;
  for (const auto& [name, estimate] : named) {
    text += ',' + csv_number(estimate->value) + ',' + csv_number(estimate->standard_error);
  }
  return text;
}

Json effects_json(const FactorialEffects& effects) {
  Json json = {{"layer", effects.layer}};
  for (const auto& [name, effect] : named_effects(effects)) {
    for (const auto& [measure, estimate] : named_estimates(*effect)) {
      json[name][measure] = estimate_json(*estimate);
    }
  }
  return json;
}

Json cell_json(const CellResult& result) {
  const Provenance& provenance = result.map.provenance;
  Json json;
  json["name"] = result.cell.name;
  json["title"] = result.cell.title;
  json["interventions"] = provenance.interventions;
  json["changes"] = provenance.changes;
  json["shuffled"] = result.cell.shuffled;
  json["seconds"] = provenance.seconds;
  json["peak_memory_bytes"] = provenance.peak_memory_bytes;
  const auto [fewest, most] = sample_range(result.map);
  json["samples"] = {fewest, most};
  if (!result.map.loss.empty()) {
    double sum = 0;
    json["loss"] = Json::array();
    for (const double loss : result.map.loss) {
      sum += loss;
      json["loss"].push_back(json_number(loss));
    }
    json["mean_loss"] = json_number(sum / static_cast<double>(result.map.loss.size()));
  }
  json["over_layers"] = Json::object();
  for (const auto& [name, spread] : spreads_over_layers(result)) {
    json["over_layers"][name] = {{"layers", spread.layers},
                                 {"median", json_number(spread.median)},
                                 {"smallest", json_number(spread.smallest)},
                                 {"largest", json_number(spread.largest)}};
  }
  json["position"] = position_json(position_decoding(result.map));
  json["layers"] = layers_json(result.layers);
  for (std::size_t place = 0; place < result.variation.size(); ++place) {
    json["layers"][place]["off_diagonal_variation"] = estimate_json(result.variation[place]);
  }
  return json;
}

}  // namespace

Json estimate_json(const Estimate& estimate) {
  Json json = {{"value", json_number(estimate.value)},
               {"standard_error", json_number(estimate.standard_error)}};
  const Interval interval = confidence_interval(estimate);
  if (!std::isnan(interval.low)) json["interval_95"] = {interval.low, interval.high};
  return json;
}

Json layers_json(const std::vector<LayerMeasures>& layers) {
  Json list = Json::array();
  for (const LayerMeasures& layer : layers) {
    Json json;
    json["layer"] = layer.layer;
    for (const auto& [name, estimate] : named_estimates(layer)) {
      json[name] = estimate_json(*estimate);
    }
    list.push_back(std::move(json));
  }
  return list;
}

std::string measures_json(const Analysis& analysis) {
  Json json;
  json["schema"] = "poslens-measures/1";
  json["program"] = std::string("poslens ") + kVersion;
  json["model"] = analysis.model_name;
  json["length"] = analysis.length;
  json["sequences"] = analysis.sequences;
  json["groups"] = analysis.groups;
  if (!analysis.cells.empty()) {
    const Provenance& provenance = analysis.cells[0].map.provenance;
    json["model_fingerprint"] = provenance.model_fingerprint;
    json["text"] = provenance.text;
    json["text_fingerprint"] = provenance.text_fingerprint;
    json["bos_policy"] = provenance.bos_policy;
    json["documents_used"] = provenance.documents_used;
    json["documents_skipped"] = provenance.documents_skipped;
    json["seed"] = provenance.seed;
    json["command_line"] = provenance.command_line;
  }
  json["answer"] = analysis.answer;
  json["findings"] = Json::object();
  for (const auto& [name, estimate] : analysis.findings) {
    json["findings"][name] = estimate_json(estimate);
  }
  json["effects"] = Json::array();
  for (const FactorialEffects& layer : analysis.effects) {
    json["effects"].push_back(effects_json(layer));
  }
  json["cells"] = Json::array();
  for (const CellResult& result : analysis.cells) json["cells"].push_back(cell_json(result));
  // Not strict: a path may hold bytes that are no UTF-8.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string measures_csv(const Analysis& analysis) {
  const LayerMeasures names;
  std::string text = "cell,layer" + csv_names(named_estimates(names)) + '\n';
  for (const CellResult& result : analysis.cells) {
    for (const LayerMeasures& layer : result.layers) {
      text += fmt::format("{},{}{}\n", result.cell.name, layer.layer,
                          csv_values(named_estimates(layer)));
    }
  }
  return text;
}

std::string effects_csv(const Analysis& analysis) {
  const Effect names;
  std::string text = "layer,effect" + csv_names(named_estimates(names)) + '\n';
  for (const FactorialEffects& layer : analysis.effects) {
    for (const auto& [name, effect] : named_effects(layer)) {
      text += fmt::format("{},{}{}\n", layer.layer, name, csv_values(named_estimates(*effect)));
    }
  }
  return text;
}

std::string loss_csv(const Analysis& analysis) {
  std::string text = "position";
  std::size_t positions = 0;
  for (const CellResult& result : analysis.cells) {
    if (result.map.loss.empty()) continue;
    text += ',' + result.cell.name;
    positions = result.map.loss.size();
  }
  text += '\n';
  for (std::size_t position = 0; position < positions; ++position) {
    text += std::to_string(position);
    for (const CellResult& result : analysis.cells) {
      if (!result.map.loss.empty()) text += ',' + csv_number(result.map.loss[position]);
    }
    text += '\n';
  }
  return text;
}

std::string curves_csv(const Analysis& analysis) {
  std::string text = "cell,layer,by,first,last,mean,standard_error,low,high\n";
  const auto add = [&](const std::string& head, const Curve& curve) {
    for (std::size_t bin = 0; bin < curve.mean.size(); ++bin) {
      text += fmt::format("{},{},{},{}\n", head, curve.first[bin], curve.last[bin],
                          csv_estimate(curve.mean[bin]));
    }
  };
  for (const CellResult& result : analysis.cells) {
    for (std::size_t place = 0; place < result.curves.size(); ++place) {
      const std::string head = fmt::format("{},{}", result.cell.name, result.map.layers.at(place));
      add(head + ",distance", result.curves[place].by_distance);
      add(head + ",key", result.curves[place].by_key);
    }
  }
  return text;
}

std::string measures_table(const std::vector<LayerMeasures>& layers) {
  constexpr int kWidth = 18;
  std::string text = "without the first key in the second line of each layer\n";
  text += fmt::format("{:>5}  {:<{w}}{:<{w}}{:<{w}}{:<{w}}{}\n", "layer", "total", "nonrelative",
                      "nonkey", "remainder", "nearness", fmt::arg("w", kWidth));
  // fmt counts characters, not bytes, when it pads.
  const auto line = [&](const std::string& head, const Decomposition& parts,
                        const Estimate& nearness) {
    text +=
        fmt::format("{:>5}  {:<{w}}{:<{w}}{:<{w}}{:<{w}}{}\n", head, with_error(parts.total),
                    percent(parts.nonrelative_share), percent(parts.nonkey_share),
                    percent(parts.remainder_share), with_error(nearness), fmt::arg("w", kWidth));
  };
  for (const LayerMeasures& layer : layers) {
    line(std::to_string(layer.layer), layer.all_keys, layer.nearness);
    line("", layer.without_first_key, layer.nearness_without_first_key);
  }
  return text;
}

}  // namespace poslens
