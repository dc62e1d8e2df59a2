// Intrusive reference counting: one word in the object, so that a handle is one pointer and a
// handle can be made from a plain pointer at any time.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace tensorlike {

// Whether whoever embeds the core counts references under a lock of its own (the binding: under the
// GIL), so that counting need not be atomic. Set once, before the first object is made. Inside a
// BlockingRegion, shared references are then neither taken nor dropped.
inline bool references_are_guarded = false;

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void retain() const {
    if (references_are_guarded) {
      count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      count_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void release() const {
    // A sole owner needs no read-modify-write: nobody else can hold or make a reference.
    const int64_t count = count_.load(std::memory_order_acquire);
    if (count == 1) {
      const_cast<RefCounted*>(this)->destroy();
    } else if (references_are_guarded) {
      count_.store(count - 1, std::memory_order_relaxed);
    } else if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const_cast<RefCounted*>(this)->destroy();
    }
  }
  void start_owned() const { count_.store(1, std::memory_order_relaxed); }
  int64_t use_count() const { return count_.load(std::memory_order_acquire); }

 protected:
  virtual ~RefCounted() = default;
  // Frees the object; classes that pool their memory override it.
  virtual void destroy() { delete this; }

 private:
  mutable std::atomic<int64_t> count_{0};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(T* pointer) : pointer_(pointer) {
    if (pointer_ != nullptr) pointer_->retain();
  }
  Ref(const Ref& other) : Ref(other.pointer_) {}
  Ref(Ref&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  template <class U>
  Ref(const Ref<U>& other) : Ref(static_cast<T*>(other.get())) {}
  template <class U>
  Ref(Ref<U>&& other) : pointer_(other.detach()) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  ~Ref() {
    if (pointer_ != nullptr) pointer_->release();
  }

  T* get() const { return pointer_; }
  T* operator->() const { return pointer_; }
  T& operator*() const { return *pointer_; }
  explicit operator bool() const { return pointer_ != nullptr; }
  bool operator==(const Ref& other) const { return pointer_ == other.pointer_; }

  // Gives the reference away without releasing it.
  T* detach() { return std::exchange(pointer_, nullptr); }
  // Takes over a reference that somebody detached.
  static Ref adopt(T* pointer) {
    Ref ref;
    ref.pointer_ = pointer;
    return ref;
  }

 private:
  T* pointer_ = nullptr;
};

// A new object, whose one reference is the result: nobody else can count yet.
template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  T* made = new T(std::forward<Args>(args)...);
  made->start_owned();
  return Ref<T>::adopt(made);
}

}  // namespace tensorlike
