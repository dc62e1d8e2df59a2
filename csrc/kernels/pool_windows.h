// What pooling knows of its windows as a whole.
#pragma once

#include "base/window.h"

namespace tensorlike {
namespace {  // each ISA level has its own

// Whether windows that are taken one by one are runs of combined rows: neither too long for that
// nor with gaps.
inline bool has_runs(const PoolWindow& w) {
  const int64_t longest = w.is_irregular ? (w.in[2] - 1) / w.out[2] + 2 : w.kernel[2];
  return w.is_dense() && longest <= PoolWindow::kMostSpan;
}

// Whether windows lie one behind the other in memory and are all there is.
inline bool are_rows(const PoolWindow& w) {
  for (int dim = 0; dim < 2; ++dim) {
    if (w.in[dim] != 1 || w.out[dim] != 1 || w.kernel[dim] != 1) return false;
  }
  return !w.is_irregular && w.before[0] + w.before[1] + w.before[2] == 0 && w.dilation[2] == 1 &&
         w.stride[2] == w.kernel[2] && w.in[2] == w.kernel[2] * w.out[2];
}

// The same windows, where each covers lines from end to end: of one line that these make up.
inline PoolWindow in_fewer_lines(PoolWindow w) {
  const auto covers_lines = [&] {
    return !w.is_irregular && w.is_dense() && w.out[2] == 1 && w.before[2] == 0 &&
           w.kernel[2] == w.in[2];
  };
  for (int turn = 1; turn < Window::kDims && covers_lines(); ++turn) {
    const int64_t line = w.in[2];
    for (int64_t* sizes : {w.in, w.kernel, w.stride, w.before}) {
      sizes[2] = sizes[1] * line;
      sizes[1] = sizes[0];
    }
    w.out[2] = w.out[1];
    w.out[1] = w.out[0];
    w.in[0] = w.out[0] = w.kernel[0] = w.stride[0] = 1;
    w.before[0] = 0;
  }
  return w;
}

}  // namespace
}  // namespace tensorlike
