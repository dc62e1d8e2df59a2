// Dropout, for one ISA level. The mask is a function of the key and the element's number (a
// counter-based generator), so it is the same for any number of threads, and backward makes it
// again instead of reading it. Block b of four elements is block b of the generator's draw 0;
// element 4 b + w takes word w.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/philox.h"

namespace tensorlike {
namespace {

template <class T>
void dropout(void* out, const void* in, int64_t n, uint64_t key, int64_t first, uint32_t threshold,
             double scale) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  const T factor = static_cast<T>(scale);
  int64_t i = 0;
  while (i < n) {
    const int64_t block = (first + i) / kPhiloxWords;
    uint32_t words[kPhiloxWords][kPhiloxBlocks];
    philox_blocks(key, static_cast<uint64_t>(block), 0, words);
    T kept[kPhiloxWords * kPhiloxBlocks];
    for (int64_t b = 0; b < kPhiloxBlocks; ++b) {
      for (int64_t w = 0; w < kPhiloxWords; ++w) {
        kept[b * kPhiloxWords + w] = words[w][b] >= threshold ? factor : T(0);
      }
    }
    const int64_t skipped = first + i - block * kPhiloxWords;
    const int64_t ready = kPhiloxWords * kPhiloxBlocks - skipped;
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
