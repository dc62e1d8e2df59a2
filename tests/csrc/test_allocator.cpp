// Tests the caching allocator: sizes, alignment, what is written stays, limits and failures,
// freeing in other threads than the one that allocated, threads that end, and fork in the middle of
// it all.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "base/error.h"
#include "expect.h"
#include "memory/allocator.h"
#include "memory/workspace.h"

namespace tensorlike {
namespace {

constexpr size_t kHuge = size_t{4} << 20;

void test_sizes_and_alignment() {
  for (size_t bytes = 1; bytes < (size_t{1} << 27); bytes += bytes / 7 + 1) {
    const Block block = allocate_block(bytes);
    const size_t size = class_bytes(block.size_class);
    const auto address = reinterpret_cast<uintptr_t>(block.data);
    expect(block.data != nullptr && size >= bytes, "a block is large enough");
    expect(size <= 128 || size <= bytes + bytes / 8 + 64, "at most an eighth is wasted");
    expect(address % 64 == 0, "a block starts on a cache line");
    expect(size < kHuge || address % (size_t{2} << 20) == 0, "a large one on a huge page");
    static_cast<char*>(block.data)[0] = 1;
    static_cast<char*>(block.data)[size - 1] = 1;
    free_block(block);
  }
}

void test_a_larger_block_that_waits_is_taken() {
  empty_cache();
  const size_t before = memory_stats().allocated;
  free_block(allocate_block(size_t{900} << 10));
  const Block half = allocate_block(size_t{500} << 10);
  expect(class_bytes(half.size_class) >= size_t{900} << 10, "a block up to twice as large");
  expect(memory_stats().cached == 0, "nothing waits any more");
  expect(memory_stats().allocated == before + class_bytes(half.size_class), "it is counted whole");
  free_block(half);
  const Block third = allocate_block(size_t{300} << 10);
  expect(class_bytes(third.size_class) < size_t{400} << 10, "no larger one");
  free_block(third);
  expect(memory_stats().allocated == before, "all is back");
  empty_cache();
}

void test_what_cannot_be_had_is_null() {
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX / 2, (size_t{1} << 62) + 64, size_t{1} << 61}) {
    const size_t before = memory_stats().allocated;
    expect(allocate_block(bytes).data == nullptr, "more than any machine has");
    expect(memory_stats().allocated == before, "what failed is not counted");
  }
  const size_t before = memory_stats().allocated;
  set_memory_limit(before + (size_t{1} << 20));
  const Block small = allocate_block(1000);
  expect(small.data != nullptr, "below the limit");
  expect(allocate_block(size_t{2} << 20).data == nullptr, "beyond the limit");
  free_block(small);
  set_memory_limit(0);
  expect(memory_stats().allocated == before, "the limit counts what is freed");
}

void test_the_nth_allocation_fails_once() {
  for (const size_t bytes : {size_t{100}, size_t{100000}}) {
    std::vector<Block> blocks;
    fail_allocation_after(3);
    for (int i = 0; i < 8; ++i) blocks.push_back(allocate_block(bytes));
    for (int i = 0; i < 8; ++i) {
      const Block& block = blocks[static_cast<size_t>(i)];
      expect((block.data == nullptr) == (i == 3), "the one that was chosen fails, and no other");
      if (block.data != nullptr) free_block(block);
    }
    expect(memory_stats().limit == 0, "no limit stays behind");
  }
}

struct Filled {
  Block block;
  size_t bytes;
  unsigned char value;
  bool is_whole() const {
    const auto* data = static_cast<const unsigned char*>(block.data);
    return data[0] == value && data[bytes / 2] == value && data[bytes - 1] == value;
  }
};

Filled filled(size_t bytes, unsigned char value) {
  const Filled made{allocate_block(bytes), bytes, value};
  std::memset(made.block.data, value, bytes);
  return made;
}

// Blocks that travel between threads.
struct Exchange {
  std::mutex mutex;
  std::vector<Filled> blocks;
  std::atomic<int> torn{0};

  void work(unsigned seed, int rounds) {
    std::minstd_rand random(seed);
    std::vector<Filled> own;
    for (int i = 0; i < rounds; ++i) {
      const size_t bytes = 1 + random() % (i % 16 == 0 ? 300000 : 5000);
      own.push_back(filled(bytes, static_cast<unsigned char>(random())));
      const std::lock_guard lock(mutex);
      blocks.push_back(own.back());
      own.pop_back();
      while (blocks.size() > 50) {
        std::swap(blocks[random() % blocks.size()], blocks.back());
        own.push_back(blocks.back());
        blocks.pop_back();
      }
      if (own.size() > 20) release(own);
    }
    release(own);
  }
  void release(std::vector<Filled>& list) {
    for (const Filled& one : list) {
      torn += one.is_whole() ? 0 : 1;
      free_block(one.block);
    }
    list.clear();
  }
};

void test_a_workspace_gives_back_what_it_had_alone() {
  const size_t before = memory_stats().allocated;
  try {
    Workspace workspace;
    workspace.take<float>(1000);
    fail_allocation_after(0);
    workspace.take<float>(10);
    expect(false, "what cannot be had is an error");
  } catch (const Error& error) {
    expect(error.kind() == ErrorKind::kMemory, "the error is one of memory");
  }
  expect(memory_stats().allocated == before, "what a workspace had is given back");
  const Block next = allocate_block(1);
  expect(next.data != nullptr, "what it did not have is not");
  free_block(next);
}

void test_blocks_travel_between_threads() {
  const size_t before = memory_stats().allocated;
  Exchange exchange;
  std::atomic<bool> is_done{false};
  std::thread janitor([&] {
    while (!is_done) {
      empty_cache();
      expect(memory_stats().peak >= memory_stats().allocated / 2, "statistics can be read");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i) threads.emplace_back([&, i] { exchange.work(i + 1, 2000); });
    for (std::thread& thread : threads) thread.join();
  }
  is_done = true;
  janitor.join();
  exchange.release(exchange.blocks);
  expect(exchange.torn == 0, "no block belongs to two");
  expect(memory_stats().allocated == before, "all is given back, in whatever thread");
  empty_cache();
  expect(memory_stats().cached == 0, "nothing waits after empty_cache");
}

void test_a_child_of_fork_allocates() {
  std::atomic<bool> is_done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!is_done) free_block(allocate_block(10000));
    });
  }
  for (int round = 0; round < 30; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      for (const size_t bytes : {size_t{100}, size_t{10000}, 2 * kHuge}) {
        const Filled one = filled(bytes, 7);
        if (!one.is_whole()) _exit(1);
        free_block(one.block);
      }
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child of fork allocates");
  }
  is_done = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tensorlike

int main() {
  alarm(120);
  tensorlike::test_sizes_and_alignment();
  tensorlike::test_a_larger_block_that_waits_is_taken();
  tensorlike::test_what_cannot_be_had_is_null();
  tensorlike::test_the_nth_allocation_fails_once();
  tensorlike::test_a_workspace_gives_back_what_it_had_alone();
  tensorlike::test_blocks_travel_between_threads();
  tensorlike::test_a_child_of_fork_allocates();
  std::printf("test_allocator: %d failures\n", tensorlike::failures.load());
  return tensorlike::failures == 0 ? 0 : 1;
}
