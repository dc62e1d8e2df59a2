// How results of elementwise work lie in memory, so that it runs along memory whatever the order of
// its operands' axes.
#pragma once

#include "memory/array.h"

namespace tensorlike {

// The axes of a result as they follow each other in memory, outermost first (empty: in C order).
//
// The rule: a result lies as its operands do. Those have a say that are of its shape and whose
// elements along each of its axes lie apart. Where all of these have the axes in one order in
// memory, by the size of their strides, the result has it too; where they differ, or none has a
// say, it is in C order. So what is in C order decides, and what broadcasts says nothing. A result
// has no gaps and no axis that runs backwards, whatever its operands have.
Dims order_beside(Arrays operands, const Dims& shape);
// Whether elements along each axis of x lie apart.
bool has_say(const Array& x);
// The axes of elements that lie so; empty: in C order, or they repeat.
Dims order_in_memory(const Dims& shape, const Dims& strides);
// Strides without gaps, of axes that follow each other so.
Dims strides_in(const Dims& order, const Dims& shape);
// Those of a result beside its operands.
Dims strides_beside(Arrays operands, const Dims& shape);
// Whether elements of a shape lie in the same places: strides along an axis of one don't matter.
bool lie_alike(const Dims& shape, const Dims& strides, const Dims& other);
// Whether what has a shape broadcasts to another one.
bool broadcasts_to(const Dims& shape, const Dims& target);
// Whether elements follow each other without gaps, in some order of their axes.
bool has_no_gaps(const Array& x);

// Elementwise work on outputs that lie in another order than that of their axes, all of them in
// the same: the same work with axes in that order, in which outputs are in C order.
class SeenInOrder {
 public:
  SeenInOrder(const Dims& shape, Arrays operands, Arrays outputs);

  const Dims& shape() const { return shape_; }
  Arrays operands() const { return {pointers_.data(), operands_}; }
  Arrays outputs() const { return {pointers_.data() + operands_, pointers_.size() - operands_}; }

 private:
  Dims shape_;
  size_t operands_;
  SmallVector<Array, 6> seen_;
  SmallVector<const Array*, 6> pointers_;
};

}  // namespace tensorlike
