// Picking, putting and adding elements by computed offsets, and compaction by masks, for one ISA
// level. Offsets come in tiles that stay in L1, so that these loops know neither shapes nor the
// dtype of an index.
#include <algorithm>
#include <cstring>

#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace tensorlike {
namespace {

template <class F>
inline void over_places(int64_t n, const int32_t* places, F&& f) {
  if (places == nullptr) {
    for (int64_t i = 0; i < n; ++i) f(i);
  } else {
    for (int64_t k = 0; k < n; ++k) f(places[k]);
  }
}

template <class Index>
void index_range(const void* data, int64_t n, int64_t* least, int64_t* most) {
  const Index* index = static_cast<const Index*>(data);
  Index low = index[0];
  Index high = index[0];
  for (int64_t i = 1; i < n; ++i) {
    low = index[i] < low ? index[i] : low;
    high = index[i] > high ? index[i] : high;
  }
  *least = static_cast<int64_t>(low);
  *most = static_cast<int64_t>(high);
}

template <class Index>
bool index_offsets(int64_t* offsets, const void* data, int64_t n, int64_t size, int64_t stride,
                   bool adds) {
  const Index* index = static_cast<const Index*>(data);
  const uint64_t step = static_cast<uint64_t>(stride);
  int64_t signs = 0;  // negative once an index is
  for (int64_t i = 0; i < n; ++i) {
    const int64_t value = static_cast<int64_t>(index[i]);
    const int64_t place = value < 0 ? value + size : value;
    signs |= place | (size - 1 - place);
    const uint64_t offset = static_cast<uint64_t>(place) * step;
    offsets[i] = static_cast<int64_t>(adds ? static_cast<uint64_t>(offsets[i]) + offset : offset);
  }
  return signs >= 0;
}

// A few elements of each of many tables: the same one of several tables after the other.
template <int kSize>
void take_across(char* out, int64_t out_step, const char* in, int64_t in_step, int64_t tables,
                 const int64_t* offsets, int64_t n) {
  constexpr int64_t kTables = 64;  // whose cache lines stay at hand
  for (int64_t first = 0; first < tables; first += kTables) {
    const int64_t count = std::min(kTables, tables - first);
    for (int64_t i = 0; i < n; ++i) {
      char* const to = out + first * out_step + i * kSize;
      const char* const from = in + first * in_step + offsets[i];
#pragma GCC unroll 8
      for (int64_t t = 0; t < count; ++t) {
        std::memcpy(to + t * out_step, from + t * in_step, kSize);
      }
    }
  }
}

// Several elements are loaded before the first is stored, so that they wait for memory side by
// side; the gathers of AVX2 and AVX-512 are slower than these on AMD's processors, and no quicker
// on others.
template <int kSize>
void take(char* out, int64_t out_step, const char* in, int64_t in_step, int64_t tables,
          const int64_t* offsets, int64_t n) {
  constexpr int64_t kTogether = kSize <= 8 ? 8 : 4;
  struct Word {
    char bytes[kSize];
  };
  if (n < kTogether) {
    return take_across<kSize>(out, out_step, in, in_step, tables, offsets, n);
  }
  for (int64_t t = 0; t < tables; ++t, in += in_step, out += out_step) {
    int64_t i = 0;
    for (; i + kTogether <= n; i += kTogether) {
      Word words[kTogether];
#pragma GCC unroll 8
      for (int64_t k = 0; k < kTogether; ++k) std::memcpy(&words[k], in + offsets[i + k], kSize);
#pragma GCC unroll 8
      for (int64_t k = 0; k < kTogether; ++k) {
        std::memcpy(out + (i + k) * kSize, &words[k], kSize);
      }
    }
    for (; i < n; ++i) std::memcpy(out + i * kSize, in + offsets[i], kSize);
  }
}

template <int kSize>
void put(char* out, const int64_t* offsets, const char* in, int64_t n, const int32_t* places) {
  over_places(n, places, [&](int64_t i) { std::memcpy(out + offsets[i], in + i * kSize, kSize); });
}

// Every element is written, and the next one over it unless it was wanted: no branch to mispredict.
template <int kSize>
int64_t compress(char* out, const char* in, const uint8_t* mask, int64_t n) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(out + count * kSize, in + i * kSize, kSize);
    count += mask[i] != 0;
  }
  return count;
}

// The other way round: the next value, or what is there already.
template <int kSize>
int64_t expand(char* out, const uint8_t* mask, const char* in, int64_t n) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (mask[i] == 0) continue;
    std::memcpy(out + i * kSize, in + count * kSize, kSize);
    ++count;
  }
  return count;
}

int64_t compress_positions(int64_t* out, int64_t first, const uint8_t* mask, int64_t n) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    out[count] = first + i;
    count += mask[i] != 0;
  }
  return count;
}

int64_t count_set(const uint8_t* mask, int64_t n) {
  int64_t count = 0;
  for (int64_t at = 0; at < n; at += 128) {
    const int64_t end = at + 128 < n ? at + 128 : n;
    uint8_t sum = 0;  // at most 128: the bytes add up without widening
    for (int64_t i = at; i < end; ++i) sum = static_cast<uint8_t>(sum + (mask[i] != 0));
    count += sum;
  }
  return count;
}

// Places of those offsets that lie in [begin, end), in order.
int64_t offsets_within(int32_t* places, const int64_t* offsets, int64_t n, int64_t begin,
                       int64_t end) {
  int64_t count = 0;
  int64_t i = 0;
#if defined(__AVX512F__) && defined(__AVX512VL__)
  // What lies before `begin` becomes a large unsigned number.
  const __m512i from = _mm512_set1_epi64(begin);
  const __m512i span = _mm512_set1_epi64(end - begin);
  __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (; i + 8 <= n; i += 8) {
    const __m512i apart = _mm512_sub_epi64(_mm512_loadu_si512(offsets + i), from);
    const __mmask8 is_within = _mm512_cmplt_epu64_mask(apart, span);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(places + count),
                        _mm256_maskz_compress_epi32(is_within, lanes));
    count += __builtin_popcount(is_within);
    lanes = _mm256_add_epi32(lanes, _mm256_set1_epi32(8));
  }
#endif
  for (; i < n; ++i) {
    places[count] = static_cast<int32_t>(i);
    count += static_cast<int64_t>(offsets[i] >= begin) & static_cast<int64_t>(offsets[i] < end);
  }
  return count;
}

template <class T>
T& at_offset(void* data, int64_t offset) {
  return *reinterpret_cast<T*>(static_cast<char*>(data) + offset);
}

template <class T>
void add_elements(void* out, const int64_t* offsets, const void* values, int64_t n,
                  const int32_t* places) {
  const T* value = static_cast<const T*>(values);
  over_places(n, places, [&](int64_t i) {
    T& element = at_offset<T>(out, offsets[i]);
    element = static_cast<T>(element + value[i]);
  });
}

// Into accumulators of their own, as wide as sums are: offsets are still those of T.
template <class T, class Wide>
void add_wide(void* sums, const int64_t* offsets, const void* values, int64_t n) {
  Wide* sum = static_cast<Wide*>(sums);
  const T* value = static_cast<const T*>(values);
  for (int64_t i = 0; i < n; ++i) {
    sum[offsets[i] / static_cast<int64_t>(sizeof(T))] += static_cast<Wide>(value[i]);
  }
}

template <class T, class Wide>
void add_sums(void* out, const void* const* sums, int64_t parts, int64_t begin, int64_t end) {
  T* to = static_cast<T*>(out);
  for (int64_t i = begin; i < end; ++i) {
    Wide total{};
    for (int64_t p = 0; p < parts; ++p) total += static_cast<const Wide*>(sums[p])[i];
    to[i] = static_cast<T>(static_cast<Wide>(to[i]) + total);
  }
}

template <class T>
AddKernels add_kernels() {
  using Real = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
  using Wide = std::conditional_t<is_complex<T>, Complex<double>, Real>;
  return {add_elements<T>, sizeof(Wide), add_wide<T, Wide>, add_sums<T, Wide>};
}

template <int kSize>
constexpr PickKernels kPicks = {take<kSize>, put<kSize>, compress<kSize>, expand<kSize>};

}  // namespace

void TL_FILL(indices)(KernelTable& table);
void TL_FILL(indices)(KernelTable& table) {
  table.index32 = {index_range<int32_t>, index_offsets<int32_t>};
  table.index64 = {index_range<int64_t>, index_offsets<int64_t>};
  table.picks[0] = kPicks<1>;
  table.picks[1] = kPicks<2>;
  table.picks[2] = kPicks<4>;
  table.picks[3] = kPicks<8>;
  table.picks[4] = kPicks<16>;
  table.masks = {count_set, compress_positions, offsets_within};
  for (int dtype = 0; dtype < kDTypeCount; ++dtype) {
    if (compute_of(static_cast<DType>(dtype)) != static_cast<DType>(dtype)) continue;
    visit_compute(static_cast<DType>(dtype), [&](auto tag) {
      table.adds[static_cast<DType>(dtype)] = add_kernels<typename decltype(tag)::type>();
    });
  }
}

}  // namespace tensorlike
