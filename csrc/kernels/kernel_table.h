// The kernels of one ISA level, by name and dtype. Every translation unit that is compiled per
// level exports one function that lists what it has.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/dtype.h"
#include "kernels/attention.h"
#include "kernels/row.h"
#include "kernels/tile.h"

namespace tensorlike {

// A reduction's loops for one input dtype. The accumulator is `accumulator` bytes wide.
struct ReductionKernel {
  size_t accumulator = 0;
  // acc[j] = the identity, for j < n.
  void (*start)(void* acc, int64_t n) = nullptr;
  // *acc = combine(*acc, map(x[0]), ..., map(x[n-1])).
  void (*row)(void* acc, const void* x, int64_t n) = nullptr;
  // acc[j] = combine(acc[j], map(x[j])), for j < n.
  void (*rows)(void* acc, const void* x, int64_t n) = nullptr;
  // acc[j] = combine(acc[j], other[j]): joins partial results.
  void (*join)(void* acc, const void* other, int64_t n) = nullptr;
  // out[j] = finish(acc[j], count), for j < n.
  void (*finish)(void* out, const void* acc, int64_t n, int64_t count) = nullptr;
};

// y[i] = x[i] * scale where element first + i stays, else 0. Which stay follows from the key and
// the element's number alone: of 2^32 equally likely cases, the first `threshold` are dropped.
using DropoutKernel = void (*)(void* y, const void* x, int64_t n, uint64_t key, int64_t first,
                               uint32_t threshold, double scale);

template <class T>
struct ByDType {
  T kernel[kDTypeCount] = {};
  T& operator[](DType dtype) { return kernel[static_cast<int>(dtype)]; }
  const T& operator[](DType dtype) const { return kernel[static_cast<int>(dtype)]; }
};

struct KernelTable {
  std::map<std::string, ByDType<TileKernel>, std::less<>> scalars;
  std::map<std::string, ByDType<ReductionKernel>, std::less<>> reductions;
  ByDType<RowPrograms> rows;
  ByDType<NormPrograms> norms;
  ByDType<DropoutKernel> dropout;
  ByDType<AttentionKernels> attention;
  TileKernel casts[kDTypeCount][kDTypeCount] = {};  // [from][to]
};

// The table of the level that this process runs at.
const KernelTable& kernel_table();

// A conversion as loops one after another, with the dtype that each gives; none where a complex
// number would lose its imaginary part.
struct CastStep {
  TileKernel kernel;
  DType dtype;
};
SmallVector<CastStep, 3> cast_steps(DType from, DType to);

}  // namespace tensorlike
