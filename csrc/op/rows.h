// What inference, kernels and gradients of ops over rows all ask.
#pragma once

#include "op/op.h"

namespace tensorlike {

// The axes that make a row, non-negative and distinct: the attribute `axes` or `axis`, where None
// is all.
Dims row_axes(const Op& op, int64_t ndim);

// The axes that a gradient of a norm sums the gradients of weight and bias over, non-negative.
Dims sum_axes(const Op& op, int64_t ndim);

// The shape with size 1 along the axes.
Dims with_ones(Dims shape, std::span<const int64_t> axes);

}  // namespace tensorlike
