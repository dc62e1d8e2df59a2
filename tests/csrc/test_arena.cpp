// Layouts of lives do not overlap where these do; an arena hands out a slice only while nothing
// that lives overlaps it, and its memory stays until the last one is let go.
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "expect.h"
#include "memory/arena.h"
#include "memory/storage.h"
#include "memory/workspace.h"

namespace tensorlike {
namespace {

constexpr size_t kMostApart = 2048;  // bytes between slices that follow each other

bool overlap(const ArenaLayout::Slice& a, const ArenaLayout::Slice& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

std::vector<Lifetime> random_lives(std::mt19937& random, size_t count) {
  std::vector<Lifetime> lives;
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = random() % 50, length = random() % 20;
    lives.push_back({4096 + random() % 100000, begin, begin + length});
  }
  return lives;
}

void test_layouts() {
  std::mt19937 random(0);
  double worst = 0;
  for (int round = 0; round < 300; ++round) {
    const std::vector<Lifetime> lives = random_lives(random, random() % 60);
    ArenaLayout layout;
    lay_out(lives, layout);
    size_t sum = 0, end = 0;
    for (size_t i = 0; i < lives.size(); ++i) {
      const auto& a = layout.slices[i];
      expect(a.bytes == lives[i].bytes && a.offset % 64 == 0, "a slice is as large as asked for");
      sum += a.bytes + kMostApart;
      end = std::max(end, a.offset + a.bytes);
      for (size_t j = 0; j < i; ++j) {
        const auto& b = layout.slices[j];
        const bool meet = lives[i].begin <= lives[j].end && lives[j].begin <= lives[i].end;
        expect(!meet || !overlap(a, b), "slices that live at the same time do not overlap");
      }
    }
    expect(end <= layout.bytes && layout.bytes <= sum && layout.bytes >= most_alive(lives),
           "the layout holds its slices, and no more than all of them");
    if (!lives.empty()) {
      worst = std::max(worst,
                       static_cast<double>(layout.bytes) / static_cast<double>(most_alive(lives)));
    }
  }
  expect(worst < 1.5, "layouts are near the least");
}

// Whatever is asked for in whatever order: no two that live overlap.
void test_any_order() {
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    auto layout = std::make_shared<ArenaLayout>();
    lay_out(random_lives(random, 30), *layout);
    Arena* const arena = Arena::make(layout);
    expect(arena != nullptr, "an arena is made");
    std::vector<std::pair<uint32_t, Ref<Storage>>> held;
    for (int step = 0; step < 300; ++step) {
      if (!held.empty() && random() % 2 == 0) {
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(random() % held.size()));
        continue;
      }
      const auto number = static_cast<uint32_t>(random() % 30);
      const size_t bytes = layout->slices[number].bytes;
      Ref<Storage> storage = Storage::slice(*arena, number, bytes);
      bool is_free = true;
      for (const auto& [other, there] : held) {
        is_free = is_free && !overlap(layout->slices[number], layout->slices[other]);
      }
      expect(is_free == static_cast<bool>(storage), "a slice is given while it is free");
      if (storage) held.emplace_back(number, std::move(storage));
    }
    arena->leave();
    for (auto& [number, storage] : held) std::memset(storage->data(), 1, storage->bytes());
    expect(layout->is_off == !held.empty(), "what outlives a run is remembered");
  }
}

void test_memory_is_given_back() {
  const size_t before = memory_stats().allocated;
  auto layout = std::make_shared<ArenaLayout>();
  const std::vector<Lifetime> lives = {{1 << 20, 0, 1}, {1 << 20, 2, 3}};
  lay_out(lives, *layout);
  expect(layout->bytes < (1 << 20) + kMostApart, "the second lies where the first did");
  const std::vector<uint32_t> first = {0}, second = {1};
  Ref<Storage> kept;
  {
    ArenaRun run(layout);
    expect(!ArenaRun::storage(1 << 20), "nothing is expected yet");
    {
      const ArenaRun::Turn turn(run, first);
      expect(!ArenaRun::storage(4096), "no slice is of this size");
      kept = Storage::allocate(1 << 20);
      ArenaRun inside(nullptr);
      const ArenaRun::Turn inner(inside, {});
      expect(!ArenaRun::storage(1 << 20), "a run inside has none of the slices");
    }
    const ArenaRun::Turn turn(run, second);
    Ref<Storage> other = Storage::allocate(1 << 20);
    expect(other->data() != kept->data(), "a slice that lives on is left alone");
    std::thread([] { expect(!ArenaRun::storage(1 << 20), "a thread has its own"); }).join();
    const char* const place = kept->data();
    kept = nullptr;
    Workspace workspace;
    expect(workspace.bytes(1 << 20) != place, "a workspace leaves the turn its slice");
    other = Storage::allocate(1 << 20);
    expect(other->data() == place, "which is there when it is free");
    kept = other;
  }
  expect(layout->is_off, "what outlived the run is remembered");
  expect(memory_stats().allocated >= before + (1 << 20), "the memory stays");
  std::thread([&] { kept = nullptr; }).join();
  expect(memory_stats().allocated == before, "and is given back");
}

// A workspace lies where nothing else does, and gives its place back.
void test_workspaces_take_gaps() {
  auto layout = std::make_shared<ArenaLayout>();
  const std::vector<Lifetime> lives = {{1 << 20, 0, 1}, {1 << 20, 0, 1}, {1 << 20, 0, 1}};
  lay_out(lives, *layout);
  const std::vector<uint32_t> middle = {1};
  ArenaRun run(layout);
  const ArenaRun::Turn turn(run, middle);
  const Ref<Storage> result = Storage::allocate(1 << 20);
  const auto is_in_arena = [&](const char* data) {
    const ptrdiff_t away = data > result->data() ? data - result->data() : result->data() - data;
    return away >= 1 << 20 && away < (1 << 20) + static_cast<ptrdiff_t>(kMostApart);
  };
  for (int round = 0; round < 3; ++round) {
    Workspace workspace;
    const char* const first = workspace.bytes(1 << 20);
    const char* const second = workspace.bytes(1 << 20);
    const char* const third = workspace.bytes(1 << 20);
    expect(is_in_arena(first) && is_in_arena(second) && first != second, "two gaps are taken");
    expect(!is_in_arena(third), "what finds none has memory of its own");
  }
}

}  // namespace
}  // namespace tensorlike

int main() {
  tensorlike::test_layouts();
  tensorlike::test_any_order();
  tensorlike::test_memory_is_given_back();
  tensorlike::test_workspaces_take_gaps();
  return tensorlike::failures == 0 ? 0 : 1;
}
