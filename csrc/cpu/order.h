// Sorting rows: what sort, argsort, topk, unique and searchsorted share. NaN is the largest value,
// equal elements keep their order.
#pragma once

#include "cpu/arrays.h"
#include "kernels/kernel_table.h"
#include "kernels/radix_sort.h"
#include "kernels/sort_key.h"
#include "op/op.h"

namespace tensorlike {

// The dtype that elements are ordered in: one that has keys and holds all of their values.
inline DType order_dtype(DType dtype) {
  return dtype == DType::kBool ? DType::kInt32 : compute_of(dtype);
}

// Calls f(TypeTag<T>{}) with the C++ type of a dtype that order_dtype gives.
template <class F>
void visit_order(DType dtype, F&& f) {
  visit_compute(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool> && !is_complex<T>) f(tag);
  });
}

// A key that is smaller the earlier an element comes. Zeros of both signs are equal.
template <class T>
typename SortKey<T>::Key rank_of(T x, bool descending) {
  const auto key = SortKey<T>::template encode<false>(x);
  return descending ? static_cast<decltype(key)>(~key) : key;
}

// The kernels for keys of this type.
template <class Key>
const SortKernels& sort_kernels() {
  return sizeof(Key) == 4 ? kernel_table().sort32 : kernel_table().sort64;
}

// The axis that an op orders x along.
size_t order_axis(const Op& op, const Array& x);
// The elements along an axis as contiguous rows, in a dtype that has an order.
Array order_rows(const Array& x, size_t axis, Workspace& workspace);

// `x` with `axis` swapped to the end; the same call swaps back.
Array swap_last(const Array& x, size_t axis);

// Each of the contiguous rows of n elements of `x`, sorted, into `out`, which is contiguous too.
void sort_rows(const Array& x, int64_t n, bool descending, const Array& out);

// The positions that sort each of the contiguous rows; the first `wanted` of them, where not all
// are: what follows in each row of n means nothing then.
void argsort_rows(const Array& x, int64_t n, bool descending, int64_t* positions, int64_t wanted);
inline void argsort_rows(const Array& x, int64_t n, bool descending, int64_t* positions) {
  argsort_rows(x, n, descending, positions, n);
}

}  // namespace tensorlike
