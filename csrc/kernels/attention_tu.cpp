// What attention does to a stripe of scores between its matrix products, for one ISA level.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/row_loops.h"

namespace tensorlike {
namespace {

template <class T>
inline T score(const T* scores, const T* mask, T scale, int64_t i) {
  return mask == nullptr ? scores[i] * scale : scores[i] * scale + mask[i];
}

// The largest of f(i), NaN if one is.
template <class T, class F>
inline T row_largest(int64_t n, F&& f) {
  T lanes[kRowLanes];
  for (T& lane : lanes) lane = -std::numeric_limits<T>::infinity();
  int64_t i = 0;
  for (; i + kRowLanes <= n; i += kRowLanes) {
    for (int l = 0; l < kRowLanes; ++l) lanes[l] = maximum(lanes[l], f(i + l));
  }
  for (; i < n; ++i) lanes[0] = maximum(lanes[0], f(i));
  for (int width = kRowLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] = maximum(lanes[l], lanes[l + width]);
  }
  return lanes[0];
}

template <class T, bool kHasMask>
double weigh_row(T* scores, const T* mask, T scale, int64_t n) {
  auto at = [=](int64_t i) { return score(scores, kHasMask ? mask : nullptr, scale, i); };
  const T largest = row_largest<T>(n, at);
  const T shift = largest == -std::numeric_limits<T>::infinity() ? T(0) : largest;
  return row_sum<T>(n, [=](int64_t i) {
    const T weight = vm::exp(at(i) - shift);
    scores[i] = weight;
    return weight;
  });
}

// scores[r, i] = exp(scale * scores[r, i] + mask[r, i] - largest) and factors[r] = 1 / their sum.
template <class T>
void weigh(const AttentionStripe& stripe, void* scores, const void* mask, void* factors) {
  const T scale = static_cast<T>(stripe.scale);
  for (int64_t r = 0; r < stripe.rows; ++r) {
    T* row = static_cast<T*>(scores) + r * stripe.keys;
    const int64_t n = stripe.seen(r);
    double total = 0;
    if (mask == nullptr) {
      total = weigh_row<T, false>(row, nullptr, scale, n);
    } else {
      total = weigh_row<T, true>(row, static_cast<const T*>(mask) + r * stripe.mask_step, scale, n);
    }
    for (int64_t i = n; i < stripe.keys; ++i) row[i] = 0;
    // A row that sees nothing weighs nothing.
    static_cast<T*>(factors)[r] = static_cast<T>(total == 0 ? 0.0 : 1.0 / total);
  }
}

template <class T>
void scale_rows(const AttentionStripe& stripe, void* out, int64_t width, const void* factors) {
  for (int64_t r = 0; r < stripe.rows; ++r) {
    T* row = static_cast<T*>(out) + r * width;
    const T factor = static_cast<const T*>(factors)[r];
    for (int64_t i = 0; i < width; ++i) row[i] *= factor;
  }
}

// dweights = (dweights - sum(dweights * weights)) * weights * scale, row by row.
template <class T>
void score_grad(const AttentionStripe& stripe, void* dweights, const void* weights) {
  const T scale = static_cast<T>(stripe.scale);
  for (int64_t r = 0; r < stripe.rows; ++r) {
    T* d = static_cast<T*>(dweights) + r * stripe.keys;
    const T* w = static_cast<const T*>(weights) + r * stripe.keys;
    const int64_t n = stripe.keys;
    const T total = static_cast<T>(row_sum<T>(n, [=](int64_t i) { return d[i] * w[i]; }));
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) d[i] = (d[i] - total) * w[i] * scale;
  }
}

template <class T>
void add(void* to, const void* from, int64_t n) {
  T* y = static_cast<T*>(to);
  const T* x = static_cast<const T*>(from);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}

template <class T>
constexpr AttentionKernels attention_kernels() {
  return {weigh<T>, scale_rows<T>, score_grad<T>, add<T>};
}

}  // namespace

void TL_FILL(attention)(KernelTable& table);
void TL_FILL(attention)(KernelTable& table) {
  table.attention[DType::kFloat32] = attention_kernels<float>();
  table.attention[DType::kFloat64] = attention_kernels<double>();
}

}  // namespace tensorlike
