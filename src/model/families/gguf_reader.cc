#include "model/families/gguf_reader.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "poslens/error.h"

namespace poslens {

GgufReader::GgufReader(const Checkpoint& checkpoint, std::string architecture)
    : checkpoint_(checkpoint), prefix_(std::move(architecture) + '.') {}

std::string GgufReader::full(std::string_view key) const { return prefix_ + std::string(key); }

std::string GgufReader::use(std::string_view key) { return *keys_.insert(full(key)).first; }

void GgufReader::fail(std::string_view key, const std::string& expected,
                      const std::string& found) const {
  throw Error(fmt::format("{}: {}: expected {}, found {}", checkpoint_.path().string(), full(key),
                          expected, found));
}

int GgufReader::integer(std::string_view key, int low, int high) {
  const std::int64_t value = checkpoint_.integer(use(key));
  if (value < low || value > high) {
    fail(key, fmt::format("{} to {}", low, high), std::to_string(value));
  }
  return static_cast<int>(value);
}

int GgufReader::integer_or(std::string_view key, int otherwise, int low, int high) {
  return checkpoint_.has(full(key)) ? integer(key, low, high) : otherwise;
}

double GgufReader::number(std::string_view key) {
  const double value = checkpoint_.number(use(key));
  if (!(value > 0 && std::isfinite(value))) fail(key, "a number above 0", fmt::to_string(value));
  return value;
}

double GgufReader::number_or(std::string_view key, double otherwise) {
  return checkpoint_.has(full(key)) ? number(key) : otherwise;
}

std::string GgufReader::text_or(std::string_view key, std::string_view otherwise) {
  return checkpoint_.text_or(use(key), otherwise);
}

void GgufReader::ignore(std::string_view key) { use(key); }

std::string GgufReader::tensor(const std::string& name, const std::vector<std::int64_t>& shape) {
  tensors_.insert(name);
  return checkpoint_.require(name, shape).name;
}

std::optional<std::string> GgufReader::tensor_if(const std::string& name,
                                                 const std::vector<std::int64_t>& shape) {
  if (checkpoint_.find(name) == nullptr) return std::nullopt;
  return tensor(name, shape);
}

LinearSpec GgufReader::linear(const std::string& name, std::int64_t outputs, std::int64_t inputs) {
  return {.weight = tensor(name + ".weight", {outputs, inputs}),
          .bias = tensor_if(name + ".bias", {outputs}).value_or("")};
}

void GgufReader::finish() const {
  for (const auto& [key, value] : checkpoint_.metadata()) {
    if (key.starts_with(prefix_) && !keys_.contains(key)) {
      throw Error(fmt::format("{}: {}: this feature of the architecture is not supported",
                              checkpoint_.path().string(), key));
    }
  }
  for (const TensorEntry& entry : checkpoint_.tensors()) {
    if (!tensors_.contains(entry.name)) {
      throw Error(fmt::format("{}: tensor {}: not a part of the {}model that is supported",
                              checkpoint_.path().string(), entry.name,
                              prefix_.substr(0, prefix_.size() - 1) + ' '));
    }
  }
}

}  // namespace poslens
