#include "model/linear.h"

#include <fmt/format.h>

#include <dnnl.hpp>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/buffer.h"
#include "poslens/error.h"

namespace poslens {
namespace {

using DataType = dnnl::memory::data_type;
using Layout = dnnl::memory::format_tag;

dnnl::engine& cpu() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

// A product compiled for one shape and type, and the handles it runs with.
class CompiledProduct {
 public:
  CompiledProduct(const ProductShape& shape, DataType type)
      : CompiledProduct(describe(shape, type)) {}

  std::size_t scratchpad_bytes() const { return scratchpad_.get_desc().get_size(); }

  void run(dnnl::stream& stream, const void* a, const void* b, float* c, void* scratchpad) {
    // The library takes what it reads and what it writes by the same type of pointer.
    a_.set_data_handle(const_cast<void*>(a));
    b_.set_data_handle(const_cast<void*>(b));
    c_.set_data_handle(c);
    scratchpad_.set_data_handle(scratchpad);
    product_.execute(stream, arguments_);
  }

 private:
  explicit CompiledProduct(const dnnl::matmul::primitive_desc& compiled)
      : product_(compiled),
        a_(compiled.src_desc(), cpu(), nullptr),
        b_(compiled.weights_desc(), cpu(), nullptr),
        c_(compiled.dst_desc(), cpu(), nullptr),
        scratchpad_(compiled.scratchpad_desc(), cpu(), nullptr),
        arguments_{{DNNL_ARG_SRC, a_},
                   {DNNL_ARG_WEIGHTS, b_},
                   {DNNL_ARG_DST, c_},
                   {DNNL_ARG_SCRATCHPAD, scratchpad_}} {}

  // Weights stay as the checkpoint has them, [outputs, inputs]: the library's kernels for plain
  // layouts are as fast as those for its own (f32) or up to twice as fast (bf16, oneDNN 2.6).
  static dnnl::matmul::primitive_desc describe(const ProductShape& shape, DataType type) {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (shape.accumulate) {
      dnnl::post_ops sum;
      sum.append_sum();
      attributes.set_post_ops(sum);
    }
    const dnnl::memory::desc a({shape.m, shape.k}, type, Layout::ab);
    const dnnl::memory::desc b({shape.k, shape.n}, type,
                               shape.transposed ? Layout::ba : Layout::ab);
    const dnnl::memory::desc c({shape.m, shape.n}, DataType::f32, Layout::ab);
    return {dnnl::matmul::desc(a, b, c), attributes, cpu()};
  }

  dnnl::matmul product_;
  dnnl::memory a_, b_, c_, scratchpad_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

}  // namespace

struct Products::State {
  dnnl::stream stream{cpu()};
  std::map<std::pair<ProductShape, DataType>, CompiledProduct> compiled;
  Buffer<char> scratchpad;

  void run(const ProductShape& shape, DataType type, const void* a, const void* b, float* c) try {
    auto found = compiled.find({shape, type});
    if (found == compiled.end()) {
      found = compiled.try_emplace({shape, type}, shape, type).first;
      if (found->second.scratchpad_bytes() > scratchpad.size()) {
        scratchpad.resize(found->second.scratchpad_bytes());
      }
    }
    found->second.run(stream, a, b, c, scratchpad.data());
  } catch (const dnnl::error& error) {
    throw Error(fmt::format(
        "matrix product in {}: the matrix library refused it ({}){}",
        type == DataType::bf16 ? "bf16" : "f32", error.what(),
        type == DataType::bf16 ? "; bf16 needs a processor with AVX-512, f32 works on any" : ""));
  }
};

Products::Products() : state_(std::make_unique<State>()) {}
Products::~Products() = default;
Products::Products(Products&&) noexcept = default;
Products& Products::operator=(Products&&) noexcept = default;

void Products::run(const ProductShape& shape, const float* a, const float* b, float* c) {
  state_->run(shape, DataType::f32, a, b, c);
}
void Products::run(const ProductShape& shape, const simd::BFloat16* a, const simd::BFloat16* b,
                   float* c) {
  state_->run(shape, DataType::bf16, a, b, c);
}

}  // namespace poslens
