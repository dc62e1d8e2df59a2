// Dropout, for one ISA level. The mask is a function of the key and the element's number (a
// counter-based generator), so it is the same for any number of threads, and backward makes it
// again instead of reading it.
//
// Philox4x32-10: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3". Block b of four
// elements is the counter (low b, high b, 0, 0); element 4 b + w takes word w.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"

namespace tensorlike {
namespace {

constexpr int64_t kWords = 4;
constexpr int64_t kBlocks = 64;  // made together, lane by lane

// words[w][b] is word w of block first + b.
void philox(uint64_t key, uint64_t first, uint32_t (&words)[kWords][kBlocks]) {
  for (int64_t b = 0; b < kBlocks; ++b) {
    const uint64_t counter = first + static_cast<uint64_t>(b);
    uint32_t c0 = static_cast<uint32_t>(counter);
    uint32_t c1 = static_cast<uint32_t>(counter >> 32);
    uint32_t c2 = 0;
    uint32_t c3 = 0;
    uint32_t k0 = static_cast<uint32_t>(key);
    uint32_t k1 = static_cast<uint32_t>(key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = uint64_t{0xD2511F53U} * c0;
      const uint64_t p1 = uint64_t{0xCD9E8D57U} * c2;
      c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
      c1 = static_cast<uint32_t>(p1);
      c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
      c3 = static_cast<uint32_t>(p0);
      k0 += 0x9E3779B9U;
      k1 += 0xBB67AE85U;
    }
    words[0][b] = c0;
    words[1][b] = c1;
    words[2][b] = c2;
    words[3][b] = c3;
  }
}

template <class T>
void dropout(void* out, const void* in, int64_t n, uint64_t key, int64_t first, uint32_t threshold,
             double scale) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  const T factor = static_cast<T>(scale);
  int64_t i = 0;
  while (i < n) {
    const int64_t block = (first + i) / kWords;
    uint32_t words[kWords][kBlocks];
    philox(key, static_cast<uint64_t>(block), words);
    T kept[kWords * kBlocks];
    for (int64_t b = 0; b < kBlocks; ++b) {
      for (int64_t w = 0; w < kWords; ++w) {
        kept[b * kWords + w] = words[w][b] >= threshold ? factor : T(0);
      }
    }
    const int64_t skipped = first + i - block * kWords;
    const int64_t ready = kWords * kBlocks - skipped;
    const int64_t count = ready < n - i ? ready : n - i;
    // What is dropped is 0, whatever it was.
    for (int64_t j = 0; j < count; ++j) {
      const T factor_here = kept[skipped + j];
      const T value = x[i + j] * factor_here;
      y[i + j] = factor_here == T(0) ? T(0) : value;
    }
    i += count;
  }
}

}  // namespace

void TL_FILL(dropout)(KernelTable& table);
void TL_FILL(dropout)(KernelTable& table) {
  table.dropout[DType::kFloat32] = dropout<float>;
  table.dropout[DType::kFloat64] = dropout<double>;
}

}  // namespace tensorlike
