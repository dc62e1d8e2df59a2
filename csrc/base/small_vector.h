// A vector that keeps its first N elements inside itself: shapes, strides, and the inputs and
// outputs of an op are nearly always short, and the heap costs more than the op.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace tensorlike {

template <class T, size_t N>
class SmallVector {
 public:
  SmallVector() = default;
  explicit SmallVector(size_t size) { resize(size); }
  SmallVector(size_t size, const T& value) { resize(size, value); }
  SmallVector(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  explicit SmallVector(std::span<const T> values) {
    if constexpr (kPlain) {
      copy_plain(values.data(), values.size());
    } else {
      assign(values.begin(), values.end());
    }
  }
  template <class It>
  SmallVector(It first, It last) {
    assign(first, last);
  }
  SmallVector(const SmallVector& other) {
    if constexpr (kPlain) {
      copy_plain(other);
    } else {
      assign(other.begin(), other.end());
    }
  }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this == &other) return *this;
    if constexpr (kPlain) {
      copy_plain(other);
    } else {
      assign(other.begin(), other.end());
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      clear();
      heap_.reset();
      take(other);
    }
    return *this;
  }
  ~SmallVector() {
    if constexpr (!kPlain) clear();
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return heap_ ? heap_.get() : inline_; }
  const T* data() const { return heap_ ? heap_.get() : inline_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }
  operator std::span<const T>() const { return {data(), size_}; }

  void reserve(size_t size) {
    if (size > capacity_) grow(size);
  }
  void push_back(T value) {
    if (size_ == capacity_) grow(capacity_ * 2);
    data()[size_++] = std::move(value);
  }
  void resize(size_t size) {
    if constexpr (kPlain) {
      resize(size, T());
    } else {
      // What is not in use is always T() already.
      if (size > capacity_) grow(std::max(size, capacity_ * 2));
      for (size_t i = size; i < size_; ++i) data()[i] = T();
      size_ = size;
    }
  }
  void resize(size_t size, const T& value) {
    if (size > capacity_) grow(std::max(size, capacity_ * 2));
    for (size_t i = size_; i < size; ++i) data()[i] = value;
    if constexpr (!kPlain) {
      for (size_t i = size; i < size_; ++i) data()[i] = T();
    }
    size_ = size;
  }
  void clear() {
    if constexpr (!kPlain) {
      for (size_t i = 0; i < size_; ++i) data()[i] = T();
    }
    size_ = 0;
  }
  void insert(size_t at, T value) {
    push_back(std::move(value));
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(size_t at) {
    std::move(begin() + at + 1, end(), begin() + at);
    data()[--size_] = T();
  }
  template <class It>
  void assign(It first, It last) {
    clear();
    if constexpr (std::forward_iterator<It>)
      reserve(static_cast<size_t>(std::distance(first, last)));
    for (; first != last; ++first) push_back(*first);
  }
  bool operator==(const SmallVector& other) const {
    if (size_ != other.size_) return false;
    const T* a = data();
    const T* b = other.data();
    for (size_t i = 0; i < size_; ++i) {
      if (!(a[i] == b[i])) return false;
    }
    return true;
  }

 private:
  // Elements that are only bytes are copied as such and need no tidying up.
  static constexpr bool kPlain = std::is_trivially_copyable_v<T>;

  // What is inside is copied whole: a size that the compiler knows takes a few moves, not a call.
  // The elements beyond the last one are not set, which nobody sees.
  void copy_inline(const SmallVector& other) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
    const size_t bytes = sizeof(inline_) <= 128 ? sizeof(inline_) : other.size_ * sizeof(T);
    std::memcpy(static_cast<void*>(inline_), static_cast<const void*>(other.inline_), bytes);
#pragma GCC diagnostic pop
  }

  void copy_plain(const SmallVector& other) {
    if (heap_ || other.heap_) {
      copy_plain(other.data(), other.size_);
    } else {
      copy_inline(other);
      size_ = other.size_;
    }
  }
  void copy_plain(const T* from, size_t count) {
    if (count > capacity_) {
      heap_.reset(new T[count]);
      capacity_ = count;
    }
    // The start of an empty span may be null, which memcpy must not get.
    if (count > 0) std::memcpy(static_cast<void*>(data()), from, count * sizeof(T));
    size_ = count;
  }

  void grow(size_t capacity) {
    std::unique_ptr<T[]> heap(new T[capacity]());
    std::move(begin(), end(), heap.get());
    heap_ = std::move(heap);
    capacity_ = capacity;
  }
  void take(SmallVector& other) {
    heap_ = std::move(other.heap_);
    if (!heap_) {
      if constexpr (kPlain) {
        copy_inline(other);
      } else {
        std::move(other.inline_, other.inline_ + other.size_, inline_);
      }
    }
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, N);
  }

  T inline_[N];  // not set for bytes; default-constructed for what owns something
  size_t size_ = 0;
  size_t capacity_ = N;
  std::unique_ptr<T[]> heap_;
};

}  // namespace tensorlike
