// A vector that keeps its first N elements inside itself: shapes, strides, and the inputs and
// outputs of an op are nearly always short, and the heap costs more than the op.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
  SmallVector() {}  // written out: where it is `= default`, `{}` clears the elements first
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
      release(std::exchange(heap_, nullptr), capacity_);
      take(other);
    }
    return *this;
  }
  ~SmallVector() {
    clear();
    release(heap_, capacity_);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return heap_ != nullptr ? heap_ : inside(); }
  const T* data() const { return heap_ != nullptr ? heap_ : inside(); }
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
    if (size_ == capacity_) grow(size_t{capacity_} * 2);
    std::construct_at(data() + size_, std::move(value));
    ++size_;
  }
  void resize(size_t size) { resize_with(size); }
  void resize(size_t size, const T& value) { resize_with(size, value); }
  void clear() { shrink(0); }
  void insert(size_t at, T value) {
    push_back(std::move(value));
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(size_t at) {
    std::move(begin() + at + 1, end(), begin() + at);
    shrink(size_ - 1);
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

  T* inside() { return reinterpret_cast<T*>(inline_); }
  const T* inside() const { return reinterpret_cast<const T*>(inline_); }

  // What is inside is copied whole: a size that the compiler knows takes a few moves, not a call.
  // The elements beyond the last one are not set, which nobody sees.
  void copy_inline(const SmallVector& other) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
    const size_t bytes = sizeof(inline_) <= 128 ? sizeof(inline_) : other.size_ * sizeof(T);
    std::memcpy(inline_, other.inline_, bytes);
#pragma GCC diagnostic pop
  }

  void copy_plain(const SmallVector& other) {
    if (heap_ != nullptr || other.heap_ != nullptr) {
      copy_plain(other.data(), other.size_);
    } else {
      copy_inline(other);
      size_ = other.size_;
    }
  }
  void copy_plain(const T* from, size_t count) {
    if (count > capacity_) {
      clear();
      grow(count);
    }
    // The start of an empty span may be null, which memcpy must not get.
    if (count > 0) std::memcpy(static_cast<void*>(data()), from, count * sizeof(T));
    size_ = static_cast<uint32_t>(count);
  }

  // What is new is made of these.
  template <class... Parts>
  void resize_with(size_t size, const Parts&... parts) {
    if (size < size_) return shrink(size);
    if (size > capacity_) grow(std::max(size, size_t{capacity_} * 2));
    T* const elements = data();
    for (; size_ < size; ++size_) std::construct_at(elements + size_, parts...);
  }
  void shrink(size_t size) {
    if constexpr (!kPlain) std::destroy(data() + size, data() + size_);
    size_ = static_cast<uint32_t>(size);
  }

  void grow(size_t capacity) {
    T* const heap = std::allocator<T>().allocate(capacity);
    T* const old = data();
    std::uninitialized_move_n(old, size_, heap);
    std::destroy_n(old, size_);
    release(std::exchange(heap_, heap), capacity_);
    capacity_ = static_cast<uint32_t>(capacity);
  }
  static void release(T* heap, size_t capacity) {
    if (heap != nullptr) std::allocator<T>().deallocate(heap, capacity);
  }
  void take(SmallVector& other) {
    heap_ = std::exchange(other.heap_, nullptr);
    if (heap_ == nullptr) {
      if constexpr (kPlain) {
        copy_inline(other);
      } else {
        std::uninitialized_move_n(other.inside(), other.size_, inside());
        std::destroy_n(other.inside(), other.size_);
      }
    }
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, N);
  }

  T* heap_ = nullptr;
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  // Only what is below the size is made: a list of owners costs nothing before it holds some.
  alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace tensorlike
