// SmolLM2-135M-Instruct (Q4_1) against transformers: mean scores of layers 0 to 3 and mean loss by
// position over 4 x 192 tokens, in f32 from the dequantised weights. The model's path comes from
// the environment variable POSLENS_SMOLLM2; without it the test fails, because a skipped check
// looks like a passed one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "poslens/checkpoint.h"
#include "poslens/decoder.h"
#include "poslens/npz.h"

namespace poslens {
namespace {

class RealSmolLm2 : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("POSLENS_SMOLLM2");
    ASSERT_NE(path, nullptr) << "set POSLENS_SMOLLM2 to SmolLM2-135M-Instruct.Q4_1.gguf";
    checkpoint_ = Checkpoint::open(path);
    spec_ = read_model_spec(*checkpoint_);
    const NpzContents expected =
        read_npz(std::filesystem::path(POSLENS_TEST_DATA) / "golden" / "real_smollm2.npz");
    const Array& tokens = expected.arrays.at("tokens");
    batch_ = {tokens.shape[1], tokens.values<std::int32_t>()};
    scores_ = expected.arrays.at("scores").values<float>();
    loss_ = expected.arrays.at("loss").values<double>();
  }

  // Largest deviation from the expected scores at or below the diagonal of layer 0..3.
  double score_deviation(const ScoreMap& map, std::size_t layer) const {
    const auto n = static_cast<std::size_t>(map.n);
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        const double expected = scores_[(layer * n + i) * n + j];
        const double deviation = std::abs(map.layer(layer)(i, j) - expected);
        if (!(deviation <= largest)) largest = deviation;
      }
    }
    return largest;
  }

  double score_range(std::size_t layer, std::int64_t n) const {
    const auto first = scores_.begin() + static_cast<std::int64_t>(layer) * n * n;
    const auto [low, high] = std::minmax_element(first, first + n * n);
    return double{*high} - *low;
  }

  std::unique_ptr<Checkpoint> checkpoint_;
  ModelSpec spec_;
  TokenBatch batch_;
  std::vector<float> scores_;
  std::vector<double> loss_;
};

TEST_F(RealSmolLm2, ScoresAndLossInF32) {
  const ScoreMap map = run_decoder(*checkpoint_, spec_, batch_, {});
  ASSERT_EQ(map.layers.size(), 30u);
  for (std::size_t layer = 0; layer < 4; ++layer) {
    const double deviation = score_deviation(map, layer);
    std::cout << "layer " << layer << ": largest deviation " << deviation << '\n';
    EXPECT_LT(deviation, 2e-3) << "layer " << layer;
  }
  ASSERT_EQ(map.loss.size(), loss_.size());
  double largest = 0;
  for (std::size_t p = 0; p < loss_.size(); ++p) {
    largest = std::max(largest, std::abs(map.loss[p] - loss_[p]));
  }
  std::cout << "loss: largest deviation " << largest << '\n';
  EXPECT_LT(largest, 2e-3);
}

TEST_F(RealSmolLm2, ScoresInBf16) {
  DecoderOptions options;
  options.compute_type = ComputeType::bf16;
  options.layers = {0, 1, 2, 3};
  const ScoreMap map = run_decoder(*checkpoint_, spec_, batch_, options);
  EXPECT_TRUE(map.loss.empty()) << "the run must stop after layer 3";
  for (std::size_t layer = 0; layer < 4; ++layer) {
    const double relative = score_deviation(map, layer) / score_range(layer, map.n);
    std::cout << "layer " << layer << ": largest deviation " << 100 * relative
              << " % of the range\n";
    EXPECT_LT(relative, 0.02) << "layer " << layer;
  }
}

}  // namespace
}  // namespace poslens
