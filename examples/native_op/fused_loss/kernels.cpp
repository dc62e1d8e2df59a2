// Each row is read from memory once, for its largest logit, and then from the cache: nothing as
// large as the logits is written on the way to the loss.
#include <algorithm>
#include <cmath>

#include "tensorlike_native.h"

namespace {

int64_t label_at(const tl_array& labels, int64_t i) {
  switch (labels.dtype) {
    case TL_INT8:
      return static_cast<const int8_t*>(labels.data)[i];
    case TL_UINT8:
      return static_cast<const uint8_t*>(labels.data)[i];
    case TL_INT16:
      return static_cast<const int16_t*>(labels.data)[i];
    case TL_UINT16:
      return static_cast<const uint16_t*>(labels.data)[i];
    case TL_INT32:
      return static_cast<const int32_t*>(labels.data)[i];
    case TL_UINT32:
      return static_cast<const uint32_t*>(labels.data)[i];
    default:  // int64; what uint64 has beyond it is out of range, too
      return static_cast<const int64_t*>(labels.data)[i];
  }
}

// The body would broadcast: rows must be as many as labels.
bool fit(const tl_array& logits, const tl_array& other) {
  return other.ndim + 1 == logits.ndim &&
         std::equal(other.shape, other.shape + other.ndim, logits.shape);
}

template <class T>
struct Row {
  const T* x;
  int64_t size;
  T scale;
  T largest;
  T total = 0;  // of the exponentials

  Row(const T* x, int64_t size, T scale)
      : x(x), size(size), scale(scale), largest(scale * *std::max_element(x, x + size)) {
    for (int64_t i = 0; i < size; ++i) total += std::exp(scale * x[i] - largest);
  }
  T loss(int64_t label) const { return std::log(total) - (scale * x[label] - largest); }
  // May be written over the logits.
  void slopes(int64_t label, T flow, T* out) const {
    const T factor = flow / total;
    for (int64_t i = 0; i < size; ++i) {
      const T slope = std::exp(scale * x[i] - largest) * factor;
      out[i] = i == label ? slope - flow : slope;
    }
  }
};

// Calls f(i, row, label) for every row, on several threads.
template <class T, class F>
int32_t for_rows(tl_call* call, F f) {
  const tl_array& logits = call->inputs[0];
  const tl_array& labels = call->inputs[1];
  if (!fit(logits, labels) || (call->input_count > 2 && !fit(logits, call->inputs[2]))) {
    return tl_fail(call, TL_SHAPE_ERROR, "labels and cotangent must have a number for each row");
  }
  const int64_t size = logits.shape[logits.ndim - 1];
  const T scale = static_cast<T>(tl_float(call, "scale"));
  const T* const data = static_cast<const T*>(logits.data);
  const int64_t grain = 1 + 16384 / std::max<int64_t>(size, 1);
  return tl_parallel(call, tl_count(&labels), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t label = label_at(labels, i);
      if (label < 0 || label >= size) {
        tl_fail(call, TL_INDEX_ERROR, "labels must be from 0 to %lld; got %lld",
                static_cast<long long>(size - 1), static_cast<long long>(label));
        return;
      }
      f(i, Row<T>(data + i * size, size, scale), label);
    }
  });
}

template <class T>
int32_t loss(tl_call* call) {
  T* const out = static_cast<T*>(call->outputs[0].data);
  return for_rows<T>(
      call, [&](int64_t i, const Row<T>& row, int64_t label) { out[i] = row.loss(label); });
}

template <class T>
int32_t slopes(tl_call* call) {
  T* const out = static_cast<T*>(call->outputs[0].data);
  const T* const cotangent = static_cast<const T*>(call->inputs[2].data);
  const T scale = static_cast<T>(tl_float(call, "scale"));
  return for_rows<T>(call, [&](int64_t i, const Row<T>& row, int64_t label) {
    row.slopes(label, cotangent[i] * scale, out + i * row.size);
  });
}

// computes_in says that logits and cotangents come in the result's dtype.
int32_t run_loss(tl_call* call) {
  return call->outputs[0].dtype == TL_FLOAT64 ? loss<double>(call) : loss<float>(call);
}
int32_t run_slopes(tl_call* call) {
  return call->outputs[0].dtype == TL_FLOAT64 ? slopes<double>(call) : slopes<float>(call);
}

// The bodies say shapes and dtypes, so that no inference is listed.
const tl_kernel kernels[] = {{"fused_cross_entropy", run_loss, nullptr},
                             {"fused_cross_entropy_grad", run_slopes, nullptr}};

}  // namespace

TL_LIBRARY(kernels);
