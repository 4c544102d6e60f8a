#include "model/families/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "poslens/error.h"

namespace poslens {

Reader::Reader(const Checkpoint& checkpoint, std::string_view architecture)
    : checkpoint_(checkpoint),
      config_(checkpoint.config()),
      prefix_(fmt::format("{}.", architecture)) {}

void Reader::enter(std::string_view key) {
  auto nested = config_->object_if(key);
  if (!nested) return;
  own_config_ = std::move(nested);
  config_ = &*own_config_;
}

std::string Reader::full(std::string_view key) const { return fmt::format("{}{}", prefix_, key); }

std::string Reader::use(std::string_view key) { return *keys_.insert(full(key)).first; }

// The name under which a folder has the key, or the one that messages name.
std::string_view Reader::key_of(const Name& key) const {
  const std::size_t bar = key.folder.find('|');
  const std::string_view first = key.folder.substr(0, bar);
  if (bar == std::string_view::npos || config_->has(first)) return first;
  const std::string_view second = key.folder.substr(bar + 1);
  return config_->has(second) ? second : first;
}

void Reader::fail(const Name& key, std::string_view expected, std::string_view found) const {
  if (!is_gguf()) config_->fail(key_of(key), expected, found);
  throw Error(fmt::format("{}: {}: expected {}, found {}", checkpoint_.path().string(),
                          full(key.gguf), expected, found));
}

bool Reader::has(const Name& key) const {
  if (is_gguf()) return !key.gguf.empty() && checkpoint_.has(full(key.gguf));
  return !key.folder.empty() && config_->has(key_of(key));
}

bool Reader::is_null(const Name& key) const {
  return !is_gguf() && !has(key) && config_->is_null(key.folder.substr(0, key.folder.find('|')));
}

int Reader::integer(const Name& key, int low, int high) {
  const std::int64_t value =
      is_gguf() ? checkpoint_.integer(use(key.gguf)) : config_->integer(key_of(key));
  if (value < low || value > high) {
    fail(key, fmt::format("{} to {}", low, high), std::to_string(value));
  }
  return static_cast<int>(value);
}

int Reader::integer_or(const Name& key, int otherwise, int low, int high) {
  return has(key) ? integer(key, low, high) : otherwise;
}

double Reader::positive(const Name& key) {
  const double value = is_gguf() ? checkpoint_.number(use(key.gguf)) : config_->number(key_of(key));
  if (!(value > 0 && std::isfinite(value))) fail(key, "a number above 0", fmt::to_string(value));
  return value;
}

double Reader::positive_or(const Name& key, double otherwise) {
  return has(key) ? positive(key) : otherwise;
}

double Reader::positive_or_none(const Name& key, double otherwise) {
  return is_null(key) ? 0 : positive_or(key, otherwise);
}

bool Reader::flag_or(const Name& key, bool otherwise) {
  if (!has(key)) return otherwise;
  return is_gguf() ? checkpoint_.boolean_or(use(key.gguf), otherwise)
                   : config_->boolean(key_of(key));
}

std::string Reader::text_or(const Name& key, std::string_view otherwise) {
  if (!has(key)) return std::string(otherwise);
  return is_gguf() ? checkpoint_.text(use(key.gguf)) : config_->text(key_of(key));
}

const std::vector<bool>* Reader::flags_if(const Name& key) {
  if (!is_gguf()) return nullptr;
  const auto found = checkpoint_.metadata().find(use(key.gguf));
  return found == checkpoint_.metadata().end() ? nullptr
                                               : std::get_if<std::vector<bool>>(&found->second);
}

void Reader::set_base(const std::vector<std::string>& bases, std::string_view probe) {
  if (is_gguf()) return;
  for (const std::string& base : bases) {
    if (checkpoint_.find(base + std::string(probe)) == nullptr) continue;
    base_ = base;
    return;
  }
  throw Error(fmt::format("{}: tensor {}{}: expected it, found no such tensor",
                          checkpoint_.path().string(), bases.front(), probe));
}

void Reader::enter_layer(int number, std::string_view folder_name) {
  layer_ = number < 0  ? ""
           : is_gguf() ? fmt::format("blk.{}.", number)
                       : fmt::format("{}.{}.", folder_name, number);
  const auto in_layer = [prefix = file_name({})](const TensorEntry& tensor) {
    return tensor.name.starts_with(prefix);
  };
  constexpr int kMostLayers = 1024;  // beyond, the number of layers is at fault
  layer_missing_ =
      number > 0 && number < kMostLayers &&
      std::none_of(checkpoint_.tensors().begin(), checkpoint_.tensors().end(), in_layer);
  if (layer_missing_ && !first_missing_layer_) first_missing_layer_ = number;
}

std::string Reader::file_name(const Name& name) const {
  if (is_gguf()) return fmt::format("{}{}", layer_, name.gguf);
  if (name.folder.starts_with('/')) return std::string(name.folder.substr(1));
  return fmt::format("{}{}{}", base_, layer_, name.folder);
}

std::string Reader::tensor(const Name& name, const std::vector<std::int64_t>& shape) {
  std::string found = file_name(name);
  const bool may_miss = layer_.empty() ? first_missing_layer_.has_value() : layer_missing_;
  if (may_miss && checkpoint_.find(found) == nullptr) return found;
  tensors_.insert(found);
  return checkpoint_.require(found, shape).name;
}

bool Reader::has_tensor(const Name& name) const {
  if ((is_gguf() ? name.gguf : name.folder).empty()) return false;
  return checkpoint_.find(file_name(name)) != nullptr;
}

LinearSpec Reader::linear(const Name& name, std::int64_t outputs, std::int64_t inputs, bool bias) {
  LinearSpec linear = this->linear(name, RowMap{.total = outputs}, inputs, bias);
  linear.rows = {};
  return linear;
}

LinearSpec Reader::linear(const Name& name, const RowMap& rows, std::int64_t inputs, bool bias) {
  LinearSpec linear;
  linear.rows = rows;
  linear.transposed = transposed_;
  linear.weight =
      weight(name, transposed_ ? std::vector{inputs, rows.total} : std::vector{rows.total, inputs});
  linear.bias = bias_if(name, {rows.total}, bias);
  return linear;
}

NormSpec Reader::norm(const NormSpec& kind, const Name& name,
                      const std::vector<std::int64_t>& shape, bool bias) {
  NormSpec norm = kind;
  norm.weight = {weight(name, shape)};
  norm.bias = bias_if(name, shape, bias);
  return norm;
}

std::string Reader::weight(const Name& name, const std::vector<std::int64_t>& shape) {
  const std::string folder = fmt::format("{}.weight", name.folder);
  const std::string gguf = fmt::format("{}.weight", name.gguf);
  return tensor({folder, gguf}, shape);
}

std::string Reader::bias_if(const Name& name, const std::vector<std::int64_t>& shape, bool bias) {
  const std::string folder = fmt::format("{}.bias", name.folder);
  const std::string gguf = fmt::format("{}.bias", name.gguf);
  const Name bias_name{folder, gguf};
  return (is_gguf() ? has_tensor(bias_name) : bias) ? tensor(bias_name, shape) : "";
}

void Reader::finish() const {
  if (is_gguf()) {
    for (const auto& [key, value] : checkpoint_.metadata()) {
      if (key.starts_with(prefix_) && !keys_.contains(key)) {
        throw Error(fmt::format("{}: {}: this feature of the architecture is not supported",
                                checkpoint_.path().string(), key));
      }
    }
  }
  for (const TensorEntry& entry : checkpoint_.tensors()) {
    const std::string_view name = entry.name;
    const bool ignored = std::any_of(suffixes_.begin(), suffixes_.end(),
                                     [&](const auto& end) { return name.ends_with(end); }) ||
                         std::any_of(prefixes_.begin(), prefixes_.end(),
                                     [&](const auto& start) { return name.starts_with(start); });
    if (!ignored && !tensors_.contains(name)) {
      throw Error(fmt::format("{}: tensor {}: not a part of the {} model that is supported",
                              checkpoint_.path().string(), name,
                              prefix_.substr(0, prefix_.size() - 1)));
    }
  }
}

}  // namespace poslens
