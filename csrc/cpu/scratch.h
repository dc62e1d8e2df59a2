// Memory that a thread keeps between kernels, so that blocks of work do not pay for fresh pages.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tensorlike {

// Held for the time of one chunk of work. Who asks for memory while another holds it (an interrupt
// hook may run any code) gets memory of its own.
class Scratch {
 public:
  explicit Scratch(size_t bytes) : memory_(std::exchange(home(), {})) {
    if (memory_.size() < bytes + kAlignment) memory_.resize(bytes + kAlignment);
    const size_t off = reinterpret_cast<uintptr_t>(memory_.data()) % kAlignment;
    next_ = memory_.data() + (kAlignment - off) % kAlignment;
  }
  ~Scratch() { home() = std::move(memory_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // What `bytes` bytes take up.
  static size_t rounded(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
  // The next part; all parts together, rounded, are what was asked for.
  template <class T>
  T* take(int64_t count) {
    T* part = reinterpret_cast<T*>(next_);
    next_ += rounded(static_cast<size_t>(count) * sizeof(T));
    return part;
  }
  char* data() const { return next_; }

 private:
  static constexpr size_t kAlignment = 64;
  static std::vector<char>& home() {
    thread_local std::vector<char> memory;
    return memory;
  }

  std::vector<char> memory_;
  char* next_;
};

}  // namespace tensorlike
