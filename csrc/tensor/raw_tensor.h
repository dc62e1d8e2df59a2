// RawTensor: elements in the memory of a device. Applying an op launches its kernel there. Views
// (strides, offsets) are made freely, since nobody can write through one.
#pragma once

#include <cstring>
#include <optional>

#include "memory/allocator.h"
#include "memory/array.h"
#include "memory/storage.h"
#include "tensor/value.h"

namespace tensorlike {

// The computation that will fill tensors: the engine's. A tensor holds the one that it waits for.
class Pending : public RefCounted {
 public:
  // Fills the tensors; `reason` says who asks.
  virtual void finish(const char* reason) = 0;
  // Nobody can ask for this tensor any more.
  virtual void forget(const RawTensor& tensor) = 0;
};

class RawTensor final : public Value, public Array {
 public:
  RawTensor(DType dtype, Dims shape, Dims strides, Ref<Storage> storage, char* data)
      : Value(kRaw, raw_tensor_type()),
        Array(dtype, std::move(shape), std::move(strides), data),
        storage(std::move(storage)) {
    device = this->storage->device();
    forms = this->storage->forms();
  }
  // Contiguous, of a count that the caller knows, on the device of the storage.
  RawTensor(DType dtype, const Dims& shape, const Dims& strides, int64_t count,
            Ref<Storage> storage, Device device = {})
      : Value(kRaw, raw_tensor_type()),
        Array(dtype, shape, strides, count, storage->data()),
        storage(std::move(storage)) {
    this->device = device;
  }
  // Without elements until `computation` fills it; in order, if nothing else is known.
  RawTensor(const Spec& spec, Ref<Pending> computation)
      : RawTensor(Array(spec.dtype, spec.shape, nullptr), std::move(computation)) {
    device = spec.device;
  }
  RawTensor(const Array& place, Ref<Pending> computation)
      : Value(kRaw, raw_tensor_type()), Array(place), pending(std::move(computation)) {
    data = nullptr;
  }
  ~RawTensor() override {
    if (pending) pending->forget(*this);
  }

  // A fresh tensor whose elements are not set: in order, or with strides that leave no gaps.
  static Ref<RawTensor> empty(DType dtype, Dims shape, Device device = {});
  static Ref<RawTensor> empty(DType dtype, Dims shape, Dims strides, Device device);
  static Ref<RawTensor> scalar(DType dtype, Literal value, Device device = {});
  // Same elements, seen through another shape.
  Ref<RawTensor> view(Dims view_shape, Dims view_strides, int64_t offset = 0) const;

  double priority() const override { return 0; }
  bool spec(Spec& out) const override {
    out = {dtype, shape, device};
    return true;
  }
  Spec spec() const { return {dtype, shape, device}; }
  // Waits for the elements. Kernels get tensors that are ready; whoever else reads asks for it.
  const RawTensor& ready(const char* reason) const {
    if (pending) Ref<Pending>(pending)->finish(reason);
    return *this;
  }
  // Its elements will lie so.
  void lie(const Dims& so) {
    strides = so;
    is_contiguous = lies_in_order(shape, strides);
  }
  // The elements are there, as they were said to lie.
  void fill(Ref<Storage> filled) {
    char* begin = filled->data();
    fill(std::move(filled), begin);
  }
  void fill(Ref<Storage> filled, char* begin) {
    storage = std::move(filled);
    data = begin;
    pending = nullptr;
  }
  // The elements have been computed; they lie as those of `result` do, which was not known before.
  void fill(const RawTensor& result) {
    Dims filled = result.strides;  // the one thing that may find no memory
    strides = std::move(filled);
    is_contiguous = result.is_contiguous;
    storage = result.storage;
    data = result.data;
    pending = nullptr;
  }

  static void* operator new(size_t) { return ObjectPool<RawTensor>::take(); }
  static void operator delete(void* memory) { ObjectPool<RawTensor>::give(memory); }

  Ref<Storage> storage;  // null while pending, as the data are
  Ref<Pending> pending;
};

// The same elements, contiguous in C order; x itself when it is.
Ref<RawTensor> contiguous(const RawTensor& x);
// A fresh contiguous copy.
Ref<RawTensor> copy(const RawTensor& x);
Ref<RawTensor> cast(const RawTensor& x, DType dtype);
Ref<RawTensor> broadcast_to(const RawTensor& x, std::span<const int64_t> shape);
// The same elements on a device; x itself where it lives there.
Ref<RawTensor> moved(const RawTensor& x, Device device);

// Applies any op to RawTensors that are ready: infers, then runs its kernel, or its body. Inputs
// whose bit is set in `donated` may be written over when nobody but the caller (who holds `holds`
// references) has them. The engine's `launch` is the way here.
Values execute(const Op& op, Args args, uint32_t donated = 0, int64_t holds = 0);

// The shortest way for the commonest call: a scalar function of few elements, of one dtype, whole
// and in order (or single), a reduction of few, or a view, on the CPU, whose backend sets it. Null
// when the call is not of this kind, and where the engine wants to see it. Never lets the GIL go.
// `apply_small` is the way here.
inline Ref<Value> (*launch_small)(const Op& op, Args args) = [](const Op&, Args) {
  return Ref<Value>();
};
// Whether an op on RawTensors gives back its argument: what is declared to leave numbers of this
// kind unchanged needs no kernel and no copy.
bool leaves_alone(const Op& op, Args args);
// The same of its one argument's dtype.
bool leaves_alone(const Op& op, DType dtype);

// False while the engine wants to see every launch, small ones too.
inline bool small_launches_are_direct = true;

// Whether literals are numbers that stand for sizes: what a dtype holds is seen when these come.
inline thread_local bool literals_are_sizes = false;

// Const: what it makes beside `like` (null: the default); ErrorKind::kOverflow as for
// check_literal.
Spec spec_of_const(const Op& op, const Spec* like);
// The value, as a RawTensor of the dtype that suits beside `like`.
Ref<RawTensor> make_const(const Op& op, const Spec* like);

// The op that carries a literal or an array. Arrays are kept as RawTensors.
class ConstOp final : public Op {
 public:
  ConstOp(const OpClass& cls, Literal literal);
  ConstOp(const OpClass& cls, Ref<RawTensor> array);
  std::optional<Literal> literal;
  Ref<RawTensor> array;
  std::optional<DType> dtype;
};

Ref<ConstOp> const_op(Literal literal);

}  // namespace tensorlike
