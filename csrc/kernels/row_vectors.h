// Rows of some vectors, as many rows at a time as a vector has lanes: what the lanes of each row
// give is found for all of them at once, and the numbers of rows lie side by side. Included once
// per ISA level, inside an anonymous namespace.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/gemm_vectors.h"
#undef TL_INLINE  // the mathematics has one of its own
#include "kernels/lanes.h"

#define TL_ALWAYS __attribute__((always_inline))

namespace tensorlike {
namespace {

// Elements of a row that is summed in its own precision; longer ones are summed block by block.
constexpr int64_t kMostInVectors = 512;

// How a row of n <= kMostInVectors elements lies in vectors: whole ones, and one with the rest. The
// rest is read first, since it may share elements with whole ones, which are written in place.
template <class T>
class VectorRow {
 public:
  using V = Vector<T>;
  static constexpr int kWidth = kLanes<T>;

  explicit VectorRow(int64_t n) : n_(n), whole_(n - n % kWidth), at_(whole_) {
    const int64_t rest = n - whole_;
    using Number = std::remove_reference_t<decltype(is_rest_[0])>;
    if (kHasMasks || n < kWidth) {
      is_rest_ = lane_numbers<V>() < static_cast<Number>(rest);
    } else {
      at_ = n - kWidth;
      is_rest_ = lane_numbers<V>() >= static_cast<Number>(kWidth - rest);
    }
  }

  // Elements that are kept by place, a whole vector of each; where one of the row's is among them.
  int64_t kept() const { return whole_ < n_ ? whole_ + kWidth : whole_; }
  int64_t kept_at(int64_t i) const { return i < whole_ ? i : whole_ + i - at_; }

  // Places of a row: where kWidth elements lie that are looked at together. Each has `own` elements
  // of those that are kept.
  struct Whole {
    int64_t i;
    TL_ALWAYS V load(const T* x) const { return tensorlike::load<V>(x + i); }
    TL_ALWAYS T* own(T* kept) const { return kept + i; }
    template <class Join>
    TL_ALWAYS V joined(V lanes, V term, Join&& join) const {
      return join(lanes, term);
    }
  };
  struct Rest {
    const VectorRow& row;
    TL_ALWAYS V load(const T* x) const { return row.load_rest(x); }
    TL_ALWAYS T* own(T* kept) const { return kept + row.whole_; }
    template <class Join>
    TL_ALWAYS V joined(V lanes, V term, Join&& join) const {
      return row.is_rest_ ? join(lanes, term) : lanes;
    }
  };

  // y = f(place).
  template <class F>
  TL_ALWAYS void map(T* y, F&& f) const {
    V rest{};
    if (whole_ < n_) rest = f(Rest{*this});
    for (int64_t i = 0; i < whole_; i += kWidth) store(y + i, f(Whole{i}));
    if (whole_ < n_) store_rest(y, rest);
  }

  // What is kept = f(place).
  template <class F>
  TL_ALWAYS void keep(T* kept, F&& f) const {
    for (int64_t i = 0; i < whole_; i += kWidth) store(kept + i, f(Whole{i}));
    if (whole_ < n_) store(kept + whole_, f(Rest{*this}));
  }

  // Joins the terms of all places, which f(place, terms) sets, lane by lane.
  template <int kSums, class F, class Join>
  TL_ALWAYS void fold(T first, V (&lanes)[kSums], F&& f, Join&& join) const {
    constexpr int kChains = 32 / kWidth;  // of which none waits for the others
    V chains[kChains][kSums];
    for (auto& chain : chains) {
      for (V& lane : chain) lane = V{} + first;
    }
    const auto meet = [&](auto place, V(&chain)[kSums]) TL_ALWAYS {
      V terms[kSums];
      f(place, terms);
      for (int s = 0; s < kSums; ++s) chain[s] = place.joined(chain[s], terms[s], join);
    };
    if (whole_ < n_) meet(Rest{*this}, chains[0]);
    int64_t i = 0;
    for (; i + kChains * kWidth <= n_; i += kChains * kWidth) {
      unrolled<kChains>([&](auto c)
                            TL_ALWAYS { meet(Whole{i + c.kValue * kWidth}, chains[c.kValue]); });
    }
    for (; i < whole_; i += kWidth) meet(Whole{i}, chains[0]);
    for (int s = 0; s < kSums; ++s) {
      lanes[s] = chains[0][s];
      for (int c = 1; c < kChains; ++c) lanes[s] = join(lanes[s], chains[c][s]);
    }
  }

  // What that gives for each of the rows [0, count), kWidth at most, of which f(r) is the f: lane r
  // of each of `found` is row r's.
  template <int kSums, class F, class Join>
  TL_ALWAYS void each(int64_t count, T first, V (&found)[kSums], F&& f, Join&& join) const {
    V rows[kSums][kWidth];
    for (int64_t r = 0; r < kWidth; ++r) {
      V lanes[kSums] = {};
      if (r < count) fold(first, lanes, f(r), join);
      for (int s = 0; s < kSums; ++s) rows[s][r] = lanes[s];
    }
    for (int s = 0; s < kSums; ++s) found[s] = join_rows(rows[s], join);
  }

  // Adds what is kept to elements.
  void add_kept(T* to, const T* kept) const {
    for (int64_t i = 0; i < n_; ++i) to[i] += kept[kept_at(i)];
  }

 private:
  TL_ALWAYS V load_rest(const T* x) const {
#if defined(__AVX512F__)
    return load_masked<T>(mask_of<T>(n_ - whole_), x + whole_);
#else
    if (n_ >= kWidth) return tensorlike::load<V>(x + at_);
#if defined(__AVX2__)
    return load_lanes<V>(is_rest_, x);
#endif
    V few{};
    for (int64_t i = 0; i < n_; ++i) few[i] = x[i];
    return few;
#endif
  }

  TL_ALWAYS void store_rest(T* y, V value) const {
#if defined(__AVX512F__)
    store_masked<T>(y + whole_, mask_of<T>(n_ - whole_), value);
#else
    if (n_ >= kWidth) return store(y + at_, value);
#if defined(__AVX2__)
    if constexpr (sizeof(T) == 4) return _mm256_maskstore_ps(y, bits_of_rest(), value);
    if constexpr (sizeof(T) == 8) return _mm256_maskstore_pd(y, bits_of_rest(), value);
#endif
    for (int64_t i = 0; i < n_; ++i) y[i] = value[i];
#endif
  }

#if defined(__AVX2__) && !defined(__AVX512F__)
  TL_ALWAYS auto bits_of_rest() const { return reinterpret_cast<__m256i>(is_rest_); }
#endif

  int64_t n_;
  int64_t whole_;  // elements in whole vectors
  int64_t at_;     // where the vector with the rest begins
  LaneNumbers<V> is_rest_;
};

constexpr int64_t kTogether = 4096;  // elements of rows that stay in the first-level cache

// Calls f(first, last) for rows that go through each step together: the steps of one row wait for
// each other, those of several need not.
template <int kMost, class F>
inline void in_groups(int64_t rows, int64_t n, F&& f) {
  const int64_t together = std::clamp<int64_t>(kTogether / (n + 1), 1, kMost);
  for (int64_t first = 0; first < rows; first += together) {
    f(first, std::min(rows, first + together));
  }
}

}  // namespace
}  // namespace tensorlike
