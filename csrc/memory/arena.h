// Memory of one run that is cut as a plan says: a slice for each result whose life is known
// beforehand, so that results that do not live at the same time share it.
//
// A plan is a proposal. A slice is handed out only while nothing that lives overlaps it, and the
// memory stays until the last slice is let go: whatever lives longer than was planned is safe, and
// what finds its place taken gets memory as anything else does.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "memory/storage.h"

namespace tensorlike {

inline constexpr size_t kLeastSlice = 4096;  // bytes: less is quicker to have from the cache
inline constexpr size_t kLeastScratch = 32768;

// What needs memory, and when: from one time to another, both included.
struct Lifetime {
  size_t bytes = 0;
  size_t begin = 0, end = 0;
};

struct ArenaLayout {
  struct Slice {
    size_t offset = 0, bytes = 0;
  };
  std::vector<Slice> slices;
  size_t bytes = 0;
  // Something outlived a run, and kept all of the memory: nobody uses the layout again.
  mutable std::atomic<bool> is_off{false};
};

// A slice for each, so that those that live at the same time do not overlap: the largest first,
// each in the least gap that holds it.
void lay_out(std::span<const Lifetime> lives, ArenaLayout& layout);
// The most bytes that live at the same time: no layout is smaller.
size_t most_alive(std::span<const Lifetime> lives);

class Arena {
 public:
  // Null where the memory is not to be had. The maker has one use of it.
  static Arena* make(std::shared_ptr<const ArenaLayout> layout);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // The slice, used until `give_back`; null while something that lives overlaps it. By one thread.
  char* take(uint32_t slice);
  // One more, of so many bytes, that overlaps nothing that lives, nor these; none where there is no
  // room.
  std::optional<uint32_t> add(size_t bytes, std::span<const uint32_t> besides);
  // On any thread.
  void give_back(uint32_t slice);
  // The maker needs it no more.
  void leave();

 private:
  Arena(std::shared_ptr<const ArenaLayout> layout, Block block);
  ~Arena() = default;
  void release();
  const ArenaLayout::Slice& slice(uint32_t number) const {
    const size_t planned = layout_->slices.size();
    return number < planned ? layout_->slices[number] : added_[number - planned];
  }
  bool is_alive(uint32_t slice) const { return alive_[slice].load(std::memory_order_acquire); }

  const std::shared_ptr<const ArenaLayout> layout_;
  const Block block_;
  std::map<size_t, uint32_t> taken_;  // by where they begin; none overlap
  static constexpr size_t kMostAdded = 8;
  std::array<ArenaLayout::Slice, kMostAdded> added_;
  std::unique_ptr<std::atomic<bool>[]> alive_;  // of those that are planned, then of those
  std::atomic<size_t> uses_{1};
};

// The slices of a run.
class ArenaRun {
 public:
  // Null: nothing of it is planned.
  explicit ArenaRun(std::shared_ptr<const ArenaLayout> layout) : layout_(std::move(layout)) {}
  ~ArenaRun();
  ArenaRun(const ArenaRun&) = delete;
  ArenaRun& operator=(const ArenaRun&) = delete;

  // While launches have these slices for what they make on this thread: of the core's own ops, so
  // that nobody's code runs meanwhile. Without slices launches have none, nor those of a run
  // around.
  class Turn {
   public:
    Turn(ArenaRun& run, std::span<const uint32_t> slices)
        : slices_(slices), outer_(current_), run_(run) {
      current_ = slices.empty() ? nullptr : this;
    }
    ~Turn() { current_ = outer_; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    friend class ArenaRun;
    const std::span<const uint32_t> slices_;
    Turn* const outer_;
    ArenaRun& run_;
  };

  // Memory of so many bytes among the slices of this turn; null: there is none.
  static Ref<Storage> storage(size_t bytes) {
    return current_ == nullptr ? Ref<Storage>() : current_->run_.find(bytes, current_->slices_);
  }
  // Memory that a kernel needs for a moment, where nothing of the run lies now; null: there is
  // none.
  static Ref<Storage> scratch(size_t bytes) {
    if (current_ == nullptr || bytes < kLeastScratch) return {};
    return current_->run_.find_scratch(bytes, current_->slices_);
  }

 private:
  Ref<Storage> find(size_t bytes, std::span<const uint32_t> slices);
  Ref<Storage> find_scratch(size_t bytes, std::span<const uint32_t> besides);
  // Whether there is an arena.
  bool has_arena();

  static inline thread_local Turn* current_ = nullptr;
  std::shared_ptr<const ArenaLayout> layout_;
  Arena* arena_ = nullptr;  // from when the first slice is asked for
};

}  // namespace tensorlike
