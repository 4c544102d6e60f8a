#pragma once
// What the tests of row kernels share: inputs, comparison with scalar twins, every instruction set.

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <span>
#include <vector>

#include "poslens/random.h"
#include "simd/model_kernels.h"

namespace poslens::simd {

inline constexpr std::size_t kLongest = 130;

inline std::vector<float> normals(std::size_t n, std::uint64_t stream, double spread = 1) {
  RandomStream random(7, stream);
  std::vector<float> values(n);
  for (float& value : values) value = static_cast<float>(spread * random.normal());
  return values;
}

// Elements beyond the length must keep this.
inline constexpr float kGuard = 12345;
inline constexpr BFloat16 kGuard16{0x1234};

inline void expect_near(std::span<const float> found, std::span<const float> expected,
                        double relative) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], relative * (1 + std::abs(double{expected[i]})))
        << "element " << i << " of " << expected.size();
  }
}

// bf16 results: the twin's f32 value rounded; the last bit may differ where the f32 values do.
inline void expect_near(std::span<const BFloat16> found, std::span<const float> expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(to_float(found[i]), expected[i], 0.0040 * std::abs(double{expected[i]}) + 1e-7)
        << "element " << i << " of " << expected.size();
  }
}

// Runs each test once per instruction set of this processor, Highway's scalar one included.
class KernelTest : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(GetParam());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }

  // Runs kernel(n, f32 out) and kernel(n, bf16 out) for every n against expected(n).
  template <typename Kernel, typename Twin>
  void check_both(const Kernel& kernel, const Twin& twin) {
    for (std::size_t n = 1; n <= kLongest; ++n) {
      std::vector<float> expected(n);
      twin(n, std::span(expected));
      std::vector<float> out(n + 1, kGuard);
      kernel(n, std::span(out).first(n));
      expect_near(std::span<const float>(out).first(n), expected, 1e-6);
      EXPECT_EQ(out[n], kGuard);
      std::vector<BFloat16> out16(n + 1, kGuard16);
      kernel(n, std::span(out16).first(n));
      expect_near(std::span<const BFloat16>(out16).first(n), expected);
      EXPECT_EQ(out16[n].bits, kGuard16.bits);
    }
  }
};

inline std::span<const float> head(const std::vector<float>& values, std::size_t n) {
  return std::span(values).first(n);
}

inline auto every_target() { return testing::ValuesIn(hwy::SupportedAndGeneratedTargets()); }
inline std::string target_name(const testing::TestParamInfo<std::int64_t>& tested) {
  return hwy::TargetName(tested.param);
}

}  // namespace poslens::simd
