// Values: what ops are applied to. A Value is one tensor-like, immutable once made.
#pragma once

#include "base/ref.h"
#include "base/shape.h"
#include "op/op.h"
#include "op/type.h"

namespace tensorlike {

// The roots of the tensor-likes' hierarchy.
const Type& tensor_base_type();
const Type& raw_tensor_type();
const Type& shape_tensor_type();
const Type& tracer_type();

class Value : public RefCounted {
 public:
  // The kinds for which the core has short ways, and all others, which `type` tells apart. Bits, so
  // that one OR over the arguments says what is present.
  enum Tag : uint8_t { kRaw = 1, kTracer = 2, kShape = 4, kOther = 8 };

  Value(Tag tag, const Type& type) : tag(tag), type(&type) {}

  const Tag tag;
  const Type* const type;  // the kind that dispatch sees

  // The object of whoever embeds the core that this value stands for; null for the core's own.
  virtual void* embedded() const { return nullptr; }
  // Who takes a call with mixed arguments: the highest, and it lifts the others.
  virtual double priority() const = 0;
  // Shape and dtype, where the tensor-like knows them.
  virtual bool spec(Spec& out) const = 0;
  // `other` as a tensor-like of this kind; null when that has no meaning.
  virtual Ref<Value> lift(Value& other) {
    return other.type == type ? Ref<Value>(&other) : Ref<Value>();
  }
};

// Shape and dtype of a value that must know them; `op` names the caller in the error.
Spec spec_of(const std::string& op, const Value& value);

// Where the arguments of an op live, as far as they know; what its rules and bodies make without
// operands is made there.
Device device_beside(std::span<Value* const> args);

// A tensor-like without elements: applying an op infers. For asking what a program would give.
class ShapeTensor final : public Value {
 public:
  explicit ShapeTensor(Spec spec) : Value(kShape, shape_tensor_type()), spec_(std::move(spec)) {}
  double priority() const override { return 5; }
  bool spec(Spec& out) const override {
    out = spec_;
    return true;
  }
  const Spec& spec() const { return spec_; }
  Ref<Value> lift(Value& other) override {
    Spec spec;
    return other.spec(spec) ? Ref<Value>(make_ref<ShapeTensor>(spec)) : Ref<Value>();
  }

 private:
  Spec spec_;
};

}  // namespace tensorlike
