#pragma once
// Reads one architecture's keys and tensors of a GGUF file and notices what nobody asked for.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "poslens/checkpoint.h"
#include "poslens/model_spec.h"

namespace poslens {

class GgufReader {
 public:
  // Keys start with "<architecture>.".
  GgufReader(const Checkpoint& checkpoint, std::string architecture);

  // A whole number from low to high. Throws Error naming the key, the range and what was found, or
  // when there is no such key; the second form takes `otherwise` then.
  int integer(std::string_view key, int low, int high);
  int integer_or(std::string_view key, int otherwise, int low, int high);
  // A number above 0.
  double number(std::string_view key);
  double number_or(std::string_view key, double otherwise);
  std::string text_or(std::string_view key, std::string_view otherwise);
  // Lets a key be there that has no bearing on results.
  void ignore(std::string_view key);

  // The name, once the tensor is there with this shape.
  std::string tensor(const std::string& name, const std::vector<std::int64_t>& shape);
  // The same, or nothing when there is no such tensor.
  std::optional<std::string> tensor_if(const std::string& name,
                                       const std::vector<std::int64_t>& shape);
  // <name>.weight [outputs, inputs] and, when it is there, <name>.bias [outputs].
  LinearSpec linear(const std::string& name, std::int64_t outputs, std::int64_t inputs);

  // Throws Error naming the first key or tensor of the file that nobody asked for: running the
  // model without it would measure another model.
  void finish() const;

  [[noreturn]] void fail(std::string_view key, const std::string& expected,
                         const std::string& found) const;

 private:
  std::string full(std::string_view key) const;
  std::string use(std::string_view key);

  const Checkpoint& checkpoint_;
  std::string prefix_;
  std::set<std::string, std::less<>> keys_;
  std::set<std::string, std::less<>> tensors_;
};

}  // namespace poslens
