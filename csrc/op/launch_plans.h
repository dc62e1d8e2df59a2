// What an op's launches have found out of inputs that lie as these do: their results' dtypes,
// shapes and strides. A launch that meets the same again need not infer; see LaunchPlan.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "base/hold.h"
#include "memory/array.h"

namespace tensorlike {

struct LaunchPlan;

// All that inference, views and the order of results may read of inputs: dtypes, shapes, strides.
class LaunchKey {
 public:
  // Whether they have a key: they live on the CPU, and it is not too long.
  bool set(Arrays inputs);
  bool operator==(const LaunchKey& other) const {
    return hash_ == other.hash_ && count_ == other.count_ &&
           std::memcmp(words_, other.words_, count_ * sizeof(words_[0])) == 0;
  }
  LaunchKey() = default;
  LaunchKey(const LaunchKey& other) : count_(other.count_), hash_(other.hash_) {
    std::memcpy(words_, other.words_, count_ * sizeof(words_[0]));
  }
  LaunchKey& operator=(const LaunchKey&) = delete;
  uint64_t hash() const { return hash_; }

 private:
  static constexpr size_t kMost = 40;

  void add(uint64_t word) {
    // Each word has a factor of its own, so that none waits for the one before it.
    hash_ += (word + 1) * (0x9E3779B97F4A7C15ULL * (2 * count_ + 1));
    words_[count_++] = word;
  }

  size_t count_ = 0;
  uint64_t hash_ = 0;
  uint64_t words_[kMost];  // the first ones are set
};

// The plans of one op. Threads without a lock of the embedder's may share the op: who finds another
// one at the plans does without.
class LaunchPlans {
 public:
  LaunchPlans();
  ~LaunchPlans();
  LaunchPlans(const LaunchPlans&) = delete;
  LaunchPlans& operator=(const LaunchPlans&) = delete;

  // Calls use(plan) with the plan of a key; false: there is none, or `use` does not take it.
  template <class Use>
  bool find(const LaunchKey& key, Use&& use) {
    const Hold hold(is_busy_);
    if (!hold || slots_.empty()) return false;
    const LaunchPlan* const plan = plan_of(key);
    return plan != nullptr && use(*plan);
  }
  // Whether a launch without a plan is one that is made again: then a plan is worth its making.
  bool comes_again(const LaunchKey& key);
  void keep(std::unique_ptr<LaunchPlan> plan);

 private:
  struct Slot {
    uint64_t missed = 0;  // the hash of the last key that had no plan here
    std::unique_ptr<LaunchPlan> plan;
  };
  static constexpr size_t kSlots = 64;  // an op that many layers share meets as many shapes

  const LaunchPlan* plan_of(const LaunchKey& key) const;
  static size_t place_of(uint64_t hash) { return (hash >> 32) % kSlots; }

  std::atomic<bool> is_busy_{false};
  uint64_t first_ = 0;  // the hash of the first key, before there are slots
  std::vector<Slot> slots_;
};

}  // namespace tensorlike
