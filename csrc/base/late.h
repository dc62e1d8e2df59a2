// What is made when somebody first asks for it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace tensorlike {

// A value, or how to make it, which happens once, in whichever thread asks first; or nothing, which
// reads as T(). Copies share what is made. Making may ask for other ones, and not for this one.
template <class T>
class Late {
 public:
  Late() = default;
  Late(T value) : state_(std::make_shared<State>(std::move(value))) {}
  explicit Late(std::function<T()> make) : state_(std::make_shared<State>(std::move(make))) {}

  // Whether there is something; does not make it.
  explicit operator bool() const { return state_ != nullptr; }
  const T* get() const { return state_ == nullptr ? nullptr : &state_->get(); }
  const T& operator*() const {
    static const T nothing{};
    return state_ == nullptr ? nothing : state_->get();
  }
  const T* operator->() const { return &**this; }

 private:
  class State {
   public:
    explicit State(T value) : value_(std::move(value)), is_made_(true) {}
    explicit State(std::function<T()> make) : make_(std::move(make)) {}
    const T& get() {
      if (!is_made_.load(std::memory_order_acquire)) finish();
      return value_;
    }

   private:
    void finish() {
      const std::lock_guard lock(mutex_);
      if (is_made_.load(std::memory_order_relaxed)) return;
      value_ = make_();
      make_ = nullptr;
      is_made_.store(true, std::memory_order_release);
    }

    std::function<T()> make_;
    T value_{};
    std::mutex mutex_;
    std::atomic<bool> is_made_{false};
  };

  std::shared_ptr<State> state_;
};

}  // namespace tensorlike
