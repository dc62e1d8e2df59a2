// Hold: a place that one thread at a time goes to, without waiting: who finds another one there
// does without it. For what is only remembered, and can be found out again.
#pragma once

#include <atomic>

namespace tensorlike {

class Hold {
 public:
  // `is_alone`: nobody else can be there, whoever embeds the core sees to it.
  explicit Hold(std::atomic<bool>& is_busy, bool is_alone = false)
      : is_busy_(is_busy),
        is_ours_(is_alone || !is_busy.exchange(true, std::memory_order_acquire)) {}
  ~Hold() {
    if (is_ours_) is_busy_.store(false, std::memory_order_release);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  explicit operator bool() const { return is_ours_; }

 private:
  std::atomic<bool>& is_busy_;
  const bool is_ours_;
};

}  // namespace tensorlike
