#include "memory/arena.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "memory/storage.h"

namespace tensorlike {
namespace {

constexpr size_t kLine = 64;

// Slices of 2^n bytes that follow each other would share the sets of the caches.
constexpr size_t kApart = 17 * kLine;

size_t lines_of(size_t bytes) {
  const size_t lines = (bytes + kLine - 1) / kLine * kLine;
  return lines < (size_t{1} << 16) ? lines : lines + kApart;
}

bool overlap(const Lifetime& a, const Lifetime& b) { return a.begin <= b.end && b.begin <= a.end; }

// The begin of the least gap that holds so many bytes, among what is sorted by where it begins.
size_t find_gap(std::span<const ArenaLayout::Slice> sorted, size_t bytes) {
  size_t found = 0, least = SIZE_MAX, end = 0;
  for (const ArenaLayout::Slice& slice : sorted) {
    if (slice.offset >= end + bytes && slice.offset - end < least) {
      least = slice.offset - end;
      found = end;
    }
    end = std::max(end, slice.offset + lines_of(slice.bytes));
  }
  return least == SIZE_MAX ? end : found;
}

}  // namespace

void lay_out(std::span<const Lifetime> lives, ArenaLayout& layout) {
  layout.slices.resize(lives.size());
  std::vector<size_t> order(lives.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lives[a].bytes > lives[b].bytes; });
  std::vector<size_t> placed;  // by where they begin
  std::vector<ArenaLayout::Slice> there;
  for (size_t each : order) {
    there.clear();
    for (size_t other : placed) {
      if (overlap(lives[each], lives[other])) there.push_back(layout.slices[other]);
    }
    ArenaLayout::Slice& slice = layout.slices[each];
    slice.bytes = lives[each].bytes;
    slice.offset = find_gap(there, lines_of(slice.bytes));
    layout.bytes = std::max(layout.bytes, slice.offset + lines_of(slice.bytes));
    const auto behind = std::find_if(placed.begin(), placed.end(), [&](size_t other) {
      return layout.slices[other].offset > slice.offset;
    });
    placed.insert(behind, each);
  }
}

size_t most_alive(std::span<const Lifetime> lives) {
  std::map<size_t, std::pair<size_t, size_t>> changes;  // bytes that come and go
  for (const Lifetime& life : lives) {
    changes[life.begin].first += life.bytes;
    changes[life.end + 1].second += life.bytes;
  }
  size_t now = 0, most = 0;
  for (const auto& [time, change] : changes) {
    now = now + change.first - change.second;
    most = std::max(most, now);
  }
  return most;
}

Arena::Arena(std::shared_ptr<const ArenaLayout> layout, Block block)
    : layout_(std::move(layout)),
      block_(block),
      alive_(std::make_unique<std::atomic<bool>[]>(layout_->slices.size() + kMostAdded)) {}

Arena* Arena::make(std::shared_ptr<const ArenaLayout> layout) {
  const Block block = allocate_block(layout->bytes);
  if (block.data == nullptr) return nullptr;
  try {
    return new Arena(std::move(layout), block);
  } catch (...) {
    free_block(block);
    return nullptr;
  }
}

char* Arena::take(uint32_t number) {
  const ArenaLayout::Slice slice = this->slice(number);
  auto at = taken_.upper_bound(slice.offset);
  if (at != taken_.begin()) --at;
  while (at != taken_.end() && at->first < slice.offset + slice.bytes) {
    if (is_alive(at->second)) {
      const ArenaLayout::Slice& other = this->slice(at->second);
      if (other.offset + other.bytes > slice.offset) return nullptr;
      ++at;
    } else {
      at = taken_.erase(at);
    }
  }
  taken_.emplace(slice.offset, number);
  alive_[number].store(true, std::memory_order_relaxed);
  uses_.fetch_add(1, std::memory_order_relaxed);
  char* const data = static_cast<char*>(block_.data) + slice.offset;
  if (memory_is_poisoned.load(std::memory_order_relaxed)) {
    std::memset(data, kPoison, slice.bytes);
  }
  return data;
}

std::optional<uint32_t> Arena::add(size_t bytes, std::span<const uint32_t> besides) {
  std::vector<ArenaLayout::Slice> there;
  for (auto at = taken_.begin(); at != taken_.end();) {
    if (is_alive(at->second)) {
      there.push_back(slice((at++)->second));
    } else {
      at = taken_.erase(at);
    }
  }
  for (uint32_t number : besides) there.push_back(slice(number));
  std::sort(there.begin(), there.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  const size_t offset = find_gap(there, lines_of(bytes));
  if (offset + bytes > layout_->bytes) return std::nullopt;
  for (uint32_t i = 0; i < kMostAdded; ++i) {
    const auto number = static_cast<uint32_t>(layout_->slices.size()) + i;
    if (is_alive(number)) continue;
    added_[i] = {offset, bytes};
    return number;
  }
  return std::nullopt;
}

void Arena::give_back(uint32_t number) {
  const ArenaLayout::Slice slice = this->slice(number);
  if (memory_is_poisoned.load(std::memory_order_relaxed)) {
    std::memset(static_cast<char*>(block_.data) + slice.offset, kPoison, slice.bytes);
  }
  alive_[number].store(false, std::memory_order_release);
  release();
}

void Arena::release() {
  if (uses_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  free_block(block_);
  delete this;
}

void Arena::leave() {
  if (uses_.load(std::memory_order_relaxed) > 1) layout_->is_off = true;
  release();
}

ArenaRun::~ArenaRun() {
  if (arena_ != nullptr) arena_->leave();
}

bool ArenaRun::has_arena() {
  if (arena_ == nullptr && layout_ != nullptr) arena_ = Arena::make(layout_);
  if (arena_ == nullptr) layout_ = nullptr;  // it could not be had: nothing is planned
  return arena_ != nullptr;
}

Ref<Storage> ArenaRun::find_scratch(size_t bytes, std::span<const uint32_t> besides) {
  if (!has_arena() || bytes > layout_->bytes) return {};
  const std::optional<uint32_t> slice = arena_->add(bytes, besides);
  return slice ? Storage::slice(*arena_, *slice, bytes) : Ref<Storage>();
}

Ref<Storage> ArenaRun::find(size_t bytes, std::span<const uint32_t> slices) {
  if (!has_arena()) return {};
  for (uint32_t slice : slices) {
    if (layout_->slices[slice].bytes != bytes) continue;
    if (Ref<Storage> storage = Storage::slice(*arena_, slice, bytes)) return storage;
  }
  return {};
}

}  // namespace tensorlike
