// Working memory that a thread keeps between calls, so that packing does not pay for fresh pages.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace tensorlike {

class ScratchBuffer {
 public:
  // At least `bytes` bytes, aligned to a cache line; what was in it may be lost. Loops multiply
  // what lies behind their operands, too, in lanes that nobody reads. What the heap leaves there
  // looks like denormal numbers (halves of pointers, sizes), which some processors take a hundred
  // times as long for: it is cleared once.
  void* reserve(size_t bytes) {
    if (bytes > bytes_) {
      memory_.reset();
      bytes_ = 0;
      const size_t rounded = (bytes + 4095) / 4096 * 4096;
      memory_.reset(std::aligned_alloc(64, rounded));
      if (memory_ == nullptr) throw std::bad_alloc();
      std::memset(memory_.get(), 0, rounded);
      bytes_ = rounded;
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  size_t bytes_ = 0;
};

// One buffer of each thread. Made before anything runs: a variable of a namespace. What threads
// have lies on the heap, since loaders keep only some hundred bytes for variables of threads, for
// all libraries that a program loads.
class ScratchPlace {
 public:
  ScratchPlace();
  ScratchBuffer& here() const;        // this thread's
  void* reserve(size_t bytes) const;  // of that

 private:
  size_t number_;
};

// What is kept of short rows (short_row_words.h), by log2 of a word's size. Here, since what is
// compiled for one level must make nothing when the library is loaded.
extern const ScratchPlace kept_short_rows[4];

// Takes a thread's buffer for the time of one call. An interrupt hook may run any code, also
// another such call; that one finds the place empty and makes a buffer of its own.
class ScratchLoan {
 public:
  explicit ScratchLoan(const ScratchPlace& place)
      : home_(place.here()), buffer_(std::exchange(home_, ScratchBuffer())) {}
  ~ScratchLoan() { home_ = std::move(buffer_); }
  ScratchLoan(const ScratchLoan&) = delete;
  ScratchLoan& operator=(const ScratchLoan&) = delete;

  template <class T>
  T* reserve(int64_t count) {
    return static_cast<T*>(buffer_.reserve(static_cast<size_t>(count) * sizeof(T)));
  }

 private:
  ScratchBuffer& home_;
  ScratchBuffer buffer_;
};

}  // namespace tensorlike
