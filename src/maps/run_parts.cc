#include "poslens/run_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "poslens/error.h"

namespace poslens {
namespace {

std::string value_of(const Provenance& provenance, const std::string& name) {
  for (const auto& [option, value] : provenance.options) {
    if (option == name) return value;
  }
  return "none";
}

// What says how a run was worked, not what was measured.
bool matters(const std::string& option) {
  static constexpr std::array<std::string_view, 3> kNot = {"shard", "threads", "memory"};
  return std::find(kNot.begin(), kNot.end(), option) == kNot.end();
}

}  // namespace

Shard Shard::parse(const std::string& text) {
  const auto refuse = [&] {
    return UsageError("--shard " + text + ": expected i/N with 1 <= i <= N <= 1000000");
  };
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto [slash, error] = std::from_chars(text.data(), end, shard.index);
  if (error != std::errc() || slash == end || *slash != '/') throw refuse();
  const auto [rest, error2] = std::from_chars(slash + 1, end, shard.count);
  if (error2 != std::errc() || rest != end) throw refuse();
  if (shard.index < 1 || shard.index > shard.count || shard.count > 1'000'000) throw refuse();
  return shard;
}

std::string Shard::text() const { return fmt::format("{}/{}", index, count); }

WorkRange Shard::of(std::int64_t total) const {
  const auto bound = [&](std::int64_t number) {  // of total * number / count, which could overflow
    return total / count * number + total % count * number / count;
  };
  return {bound(index - 1), bound(index)};
}

std::optional<std::string> shard_of(const ScoreMap& map) {
  for (const auto& [name, value] : map.provenance.options) {
    if (name == "shard") return value;
  }
  return std::nullopt;
}

void check_same_run(const Provenance& found, const Provenance& expected) {
  const auto check = [](const std::string& name, const std::string& value,
                        const std::string& wanted) {
    if (value == wanted) return;
    throw Error(fmt::format("expected {} {}, found {}", name, wanted, value));
  };
  check("program", found.program, expected.program);
  check("model fingerprint", found.model_fingerprint, expected.model_fingerprint);
  const auto compare = [&](const Provenance& names) {
    for (const auto& [name, value] : names.options) {
      if (matters(name)) check("--" + name, value_of(found, name), value_of(expected, name));
    }
  };
  compare(expected);
  compare(found);
  const auto changes = [](const Provenance& of) {
    return of.interventions.empty() ? "none" : fmt::format("{}", fmt::join(of.interventions, " "));
  };
  check("--intervene", changes(found), changes(expected));
  check("--seed", std::to_string(found.seed), std::to_string(expected.seed));
  check("--engine", found.engine, expected.engine);
  check("BOS policy:", found.bos_policy, expected.bos_policy);
  check("text fingerprint", found.text_fingerprint, expected.text_fingerprint);
}

void ShardSet::add(const Shard& shard, const std::string& name) {
  if (names_.empty()) {
    first_ = name;
    count_ = shard.count;
  }
  if (shard.count != count_) {
    throw Error(fmt::format("expected one of {} shards, as {} is, found shard {}", count_, first_,
                            shard.text()));
  }
  const auto [twin, is_new] = names_.emplace(shard.index, name);
  if (!is_new) {
    throw Error(fmt::format("shard {} is given twice, also as {}", shard.text(), twin->second));
  }
}

void ShardSet::require_all() const {
  if (names_.empty()) throw Error("expected shards to merge, found none");
  std::string missing;
  for (int index = 1; index <= count_; ++index) {
    if (!names_.contains(index)) missing += fmt::format(" {}/{}", index, count_);
  }
  if (!missing.empty()) throw Error("expected every shard, but these are missing:" + missing);
}

CheckpointClock::CheckpointClock(double interval) : interval_(interval), next_(interval) {}

double CheckpointClock::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void CheckpointClock::tick(const std::function<void()>& save) {
  const double before = seconds();
  if (before < next_) return;
  save();
  const double after = seconds();
  next_ = after + std::max(interval_, 50 * (after - before));
}

}  // namespace poslens
