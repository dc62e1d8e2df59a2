#include "memory/layout.h"

#include <algorithm>
#include <cstdlib>

namespace tensorlike {
namespace {

// The axes by their strides, the largest first; those of one element before all others. Empty where
// elements have no say: they repeat along one of them.
Dims order_of(const Dims& shape, const Dims& strides) {
  Dims order;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) order.push_back(static_cast<int64_t>(i));
  }
  const auto alone = static_cast<std::ptrdiff_t>(order.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    if (strides[i] == 0) return {};
    order.push_back(static_cast<int64_t>(i));
  }
  const auto stride = [&](int64_t axis) { return std::abs(strides[static_cast<size_t>(axis)]); };
  std::stable_sort(order.begin() + alone, order.end(),
                   [&](int64_t a, int64_t b) { return stride(a) > stride(b); });
  return order;
}

Dims permuted(const Dims& dims, const Dims& order) {
  Dims made;
  for (int64_t axis : order) made.push_back(dims[static_cast<size_t>(axis)]);
  return made;
}

}  // namespace

Dims order_beside(Arrays operands, const Dims& shape) {
  Dims order;
  for (const Array* x : operands) {
    if (!(x->shape == shape)) continue;
    if (x->is_contiguous) return {};
    const Dims own = order_of(x->shape, x->strides);
    if (own.empty()) continue;
    if (!order.empty() && !(own == order)) return {};
    order = own;
  }
  return order;
}

bool has_say(const Array& x) { return x.is_contiguous || !order_of(x.shape, x.strides).empty(); }

Dims order_in_memory(const Dims& shape, const Dims& strides) {
  const Dims order = order_of(shape, strides);
  return lies_in_order(shape, strides_in(order, shape)) ? Dims() : order;
}

Dims strides_in(const Dims& order, const Dims& shape) {
  if (order.empty()) return contiguous_strides(shape);
  Dims strides(shape.size());
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t axis = static_cast<size_t>(order[i]);
    strides[axis] = step;
    step *= std::max<int64_t>(1, shape[axis]);
  }
  return strides;
}

Dims strides_beside(Arrays operands, const Dims& shape) {
  return strides_in(order_beside(operands, shape), shape);
}

bool lie_alike(const Dims& shape, const Dims& strides, const Dims& other) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && strides[i] != other[i]) return false;
  }
  return true;
}

bool has_no_gaps(const Array& x) {
  if (x.is_contiguous) return true;
  const Dims order = order_of(x.shape, x.strides);
  return !order.empty() && lie_alike(x.shape, x.strides, strides_in(order, x.shape));
}

bool broadcasts_to(const Dims& shape, const Dims& target) {
  if (shape.size() > target.size()) return false;
  const size_t lead = target.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && shape[i] != target[lead + i]) return false;
  }
  return true;
}

SeenInOrder::SeenInOrder(const Dims& shape, Arrays operands, Arrays outputs)
    : operands_(operands.size()) {
  const Dims order = order_of(outputs[0]->shape, outputs[0]->strides);
  shape_ = permuted(shape, order);
  for (const Array* x : operands) {
    const Array whole = broadcast_to(*x, shape);
    seen_.push_back(whole.view(shape_, permuted(whole.strides, order)));
  }
  for (const Array* out : outputs) {
    seen_.push_back(out->view(shape_, permuted(out->strides, order)));
  }
  for (const Array& x : seen_) pointers_.push_back(&x);
}

}  // namespace tensorlike
