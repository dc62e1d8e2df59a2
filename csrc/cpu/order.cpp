#include "cpu/order.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "base/blocking.h"
#include "kernels/kernel_table.h"

namespace tensorlike {
namespace {

constexpr int64_t kOrderGrain = 8192;       // elements: fewer are not worth another thread
constexpr int64_t kLong = 131072;           // a row that several threads sort together
constexpr int64_t kShare = 16384;           // keys that one thread sorts alone
constexpr int64_t kJobs = 4;                // per thread, since the parts differ in size
constexpr int64_t kFewKeys = 8;             // are sorted by insertion
constexpr int64_t kOrderedTogether = 4096;  // elements of short rows that become keys together

// Buffers of a thread that sorts one row after another.
template <class Key>
class DigitSorter {
 public:
  explicit DigitSorter(int64_t n)
      : shares_(n >= kLong ? sort_shares(n) : 1),
        other_(new Key[static_cast<size_t>(n)]),
        counts_(new int64_t[static_cast<size_t>(shares_ * kSortCounts)]) {}

  void sort(Key* keys, int64_t n) {
    const Key* sorted = radix_sort(keys, other_.get(), n, shares_, counts_.get());
    if (sorted != keys) std::copy_n(sorted, n, keys);
  }

 private:
  int shares_;
  std::unique_ptr<Key[]> other_;
  std::unique_ptr<int64_t[]> counts_;
};

// Parts keys until there is enough for all threads, then sorts the parts side by side.
template <class Key>
void sort_together(Key* keys, int64_t n, const SortKernels& kernels) {
  struct Part {
    Key* keys;
    int64_t n;
    bool is_done = false;
  };
  std::vector<Part> parts{{keys, n}};
  const size_t wanted = static_cast<size_t>(kJobs * num_threads());
  while (parts.size() < wanted) {
    std::vector<Part> halves(parts.size() * 2);
    parallel_for(static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Part part = parts[static_cast<size_t>(i)];
        Part* half = &halves[static_cast<size_t>(i) * 2];
        half[0] = part;
        half[1] = {part.keys + part.n, 0, true};
        if (part.is_done || part.n <= kShare) continue;
        bool are_equal = false;
        const int64_t front = kernels.part(part.keys, part.n, are_equal);
        half[0] = {part.keys, front, are_equal};
        half[1] = {part.keys + front, part.n - front, false};
      }
    });
    std::erase_if(halves, [](const Part& part) { return part.n == 0; });
    const bool is_finest = halves.size() == parts.size();
    parts = std::move(halves);
    if (is_finest) break;
  }
  parallel_for(static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Part& part = parts[static_cast<size_t>(i)];
      if (!part.is_done) kernels.sort(part.keys, part.n);
    }
  });
}

// Sorts keys, whose equal ones cannot be told apart, row by row: f(keys, n) for each.
template <class Key, class F>
void with_key_sorter(int64_t n, F&& f) {
  const SortKernels& kernels = sort_kernels<Key>();
  if (n <= kFewKeys) {
    f([&](Key* keys) { detail::insertion_sort(keys, n); });
  } else if (kernels.sort == nullptr) {
    DigitSorter<Key> sorter(n);
    f([&](Key* keys) {
      if (!std::is_sorted(keys, keys + n)) sorter.sort(keys, n);
    });
  } else if (n >= kLong) {
    f([&](Key* keys) {
      if (!std::is_sorted(keys, keys + n)) sort_together(keys, n, kernels);
    });
  } else {
    f([&](Key* keys) {
      if (!std::is_sorted(keys, keys + n)) kernels.sort(keys, n);
    });
  }
}

// Brings the first `wanted` of n different keys to the front, in their order: parts are set aside
// while the front still holds them all.
void sort_first(uint64_t* keys, int64_t n, int64_t wanted) {
  constexpr int64_t kLeast = 128;  // that a part is made of
  const SortKernels& kernels = sort_kernels<uint64_t>();
  if (kernels.part == nullptr) {
    std::nth_element(keys, keys + wanted - 1, keys + n);
    std::sort(keys, keys + wanted - 1);
    return;
  }
  uint64_t* begin = keys;  // what is before is among the wanted ones
  int64_t left = wanted;
  // So many parts are enough, but for arrangements against the choice of pivots.
  int parts = 2 * std::bit_width(static_cast<uint64_t>(n));
  for (; parts > 0 && n >= kLeast && left > 0; --parts) {
    bool are_equal = false;
    const int64_t front = kernels.part(begin, n, are_equal);
    if (front > left) {
      n = front;
    } else {
      begin += front;
      n -= front;
      left -= front;
    }
  }
  if (left > 0 && n > 0) kernels.sort(begin, n);
  kernels.sort(keys, std::min(wanted, begin - keys));
}

// Calls f(begin, end) for rows: long ones one by one, which share the threads, others side by side.
template <class F>
void over_rows(int64_t rows, int64_t n, F&& f) {
  if (n >= kLong) {
    f(int64_t{0}, rows);
  } else {
    parallel_for(rows, std::max<int64_t>(1, kOrderGrain / std::max<int64_t>(n, 1)), f);
  }
}

// Zeros are sorted by their signs, side by side: brings them back into the order in which they
// stand in `from`, since they are equal.
template <class Key>
void restore_zeros(const KeyKernels& elements, const Key* from, Key* keys, int64_t n,
                   bool descending) {
  constexpr Key kPlus = Key{1} << (sizeof(Key) * 8 - 1);
  constexpr Key kMinus = kPlus - 1;  // the other way round where keys descend
  Key* const zeros = std::lower_bound(keys, keys + n, kMinus);
  Key* const end = std::upper_bound(zeros, keys + n, kPlus);
  if (zeros == end || *zeros == *(end - 1)) return;
  if (const SortKernels& kernels = sort_kernels<Key>(); kernels.zeros != nullptr) {
    kernels.zeros(zeros, from, n);
  } else {
    std::copy_if(from, from + n, zeros, [](Key x) { return (x & (kPlus - 1)) == 0; });
  }
  elements.encode(zeros, zeros, end - zeros, descending);
}

// Key is as wide as the elements; `out` holds keys until the last moment. Short rows become keys,
// and elements again, several at a time.
template <class Key>
void sort_values(const Array& x, int64_t n, bool descending, char* out) {
  const KeyKernels& kernels = kernel_table().keys[x.dtype];
  const int64_t together = std::max<int64_t>(1, kOrderedTogether / n);
  auto each = [](int64_t count, const auto& f) {
    count >= kLong ? parallel_for(count, kOrderGrain, f) : f(0, count);
  };
  over_rows(x.count / n, n, [&](int64_t begin, int64_t end) {
    with_key_sorter<Key>(n, [&](const auto& sort) {
      for (int64_t r = begin; r < end; r += together) {
        const int64_t count = std::min(together, end - r) * n;
        Key* const keys = reinterpret_cast<Key*>(out) + r * n;
        const Key* const from = x.as<Key>() + r * n;
        each(count, [&](int64_t first, int64_t last) {
          kernels.encode(keys + first, from + first, last - first, descending);
        });
        for (int64_t at = 0; at < count; at += n) {
          sort(keys + at);
          if (kind_of(x.dtype) == Kind::kFloating) {
            restore_zeros(kernels, from + at, keys + at, n, descending);
          }
        }
        each(count, [&](int64_t first, int64_t last) {
          kernels.decode(keys + first, last - first, descending);
        });
      }
    });
  });
}

// The upper half of a word holds the first 32 bits of what a key is above the least, the lower half
// the position: words cannot be equal, and equal keys keep their order.
template <class T>
class PositionSorter {
 public:
  using Key = typename SortKey<T>::Key;

  PositionSorter(const T* x, int64_t n, bool descending) : x_(x), n_(n), descending_(descending) {}

  template <class Sort>
  void run(uint64_t* words, const Sort& sort) const {
    int shift = 0;
    if constexpr (sizeof(Key) == 4) {
      kernel_table().keys[dtype_of<T>].rank(words, x_, n_, descending_);
    } else {
      const auto [least, most] = range();
      shift = std::max(0, static_cast<int>(std::bit_width(most - least)) - 32);
      for (int64_t i = 0; i < n_; ++i) {
        words[i] = (key(i) - least) >> shift << 32 | static_cast<uint64_t>(i);
      }
    }
    sort(words);
    if (shift > 0) settle(words);
    for (int64_t i = 0; i < n_; ++i) words[i] = position(words[i]);
  }

 private:
  static uint64_t position(uint64_t word) { return word & 0xffffffffU; }
  Key key(int64_t i) const { return rank_of(x_[i], descending_); }

  std::pair<Key, Key> range() const {
    Key least = static_cast<Key>(-1), most = 0;
    for (int64_t i = 0; i < n_; ++i) {
      least = std::min(least, key(i));
      most = std::max(most, key(i));
    }
    return {least, most};
  }

  // Puts words whose upper halves are equal in the order of their whole keys.
  void settle(uint64_t* words) const {
    auto comes_before = [this](uint64_t a, uint64_t b) {
      const Key first = key(static_cast<int64_t>(position(a)));
      const Key second = key(static_cast<int64_t>(position(b)));
      return first != second ? first < second : a < b;
    };
    for (int64_t begin = 0; begin < n_;) {
      int64_t end = begin + 1;
      while (end < n_ && words[end] >> 32 == words[begin] >> 32) ++end;
      if (!std::is_sorted(words + begin, words + end, comes_before)) {
        std::sort(words + begin, words + end, comes_before);
      }
      begin = end;
    }
  }

  const T* x_;
  const int64_t n_;
  const bool descending_;
};

template <class T>
void argsort_values(const T* x, int64_t rows, int64_t n, bool descending, int64_t* positions,
                    int64_t wanted) {
  over_rows(rows, n, [&](int64_t begin, int64_t end) {
    const auto each = [&](const auto& sort) {
      for (int64_t r = begin; r < end; ++r) {
        PositionSorter<T>(x + r * n, n, descending)
            .run(reinterpret_cast<uint64_t*>(positions + r * n), sort);
      }
    };
    // Words of wide keys are settled once all are in their order.
    if (wanted < n && sizeof(T) == 4 && n < kLong) {
      each([&](uint64_t* words) { sort_first(words, n, wanted); });
    } else {
      with_key_sorter<uint64_t>(n, each);
    }
  });
}

// More elements than a word has positions for.
template <class T>
void argsort_long_row(const T* x, int64_t n, bool descending, int64_t* positions) {
  for (int64_t i = 0; i < n; ++i) positions[i] = i;
  std::sort(positions, positions + n, [x, descending](int64_t a, int64_t b) {
    const auto first = rank_of(x[a], descending);
    const auto second = rank_of(x[b], descending);
    return first != second ? first < second : a < b;
  });
}

}  // namespace

size_t order_axis(const Op& op, const Array& x) {
  return static_cast<size_t>(
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(x.shape.size())));
}

Array order_rows(const Array& x, size_t axis, Workspace& workspace) {
  return prepared(swap_last(x, axis), order_dtype(x.dtype), workspace);
}

Array swap_last(const Array& x, size_t axis) {
  Dims shape = x.shape;
  Dims strides = x.strides;
  std::swap(shape[axis], shape[shape.size() - 1]);
  std::swap(strides[axis], strides[strides.size() - 1]);
  return x.view(std::move(shape), std::move(strides));
}

void sort_rows(const Array& x, int64_t n, bool descending, const Array& out) {
  if (x.count == 0) return;
  BlockingRegion blocking(x.count > kOrderGrain);
  if (size_of(x.dtype) == 4) {
    sort_values<uint32_t>(x, n, descending, out.data);
  } else {
    sort_values<uint64_t>(x, n, descending, out.data);
  }
}

void argsort_rows(const Array& x, int64_t n, bool descending, int64_t* positions, int64_t wanted) {
  if (x.count == 0) return;
  BlockingRegion blocking(x.count > kOrderGrain);
  visit_order(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t rows = x.count / n;
    if (n <= int64_t{1} << 32) {
      argsort_values(x.as<T>(), rows, n, descending, positions, wanted);
      return;
    }
    for (int64_t r = 0; r < rows; ++r) {
      argsort_long_row(x.as<T>() + r * n, n, descending, positions + r * n);
    }
  });
}

}  // namespace tensorlike
