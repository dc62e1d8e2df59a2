// The tape as a C++ user's API: its variables. A Variable is the mutable face that people hold, a
// Symbol the immutable value that it holds at a time: shape and dtype at once, elements as soon as
// the tape that computes it has run. Both are tensor-likes, so everything that applies ops works on
// them; what applying means on a Symbol is that the op is appended to a tape (see deferred.h).
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tape/tape.h"
#include "tensor/raw_tensor.h"

namespace tensorlike::tape {

class Tape;
class Variable;
using VariableHandle = Ref<Variable>;

const Type& symbol_type();
const Type& variable_type();

// What is known of a value without its elements. It outlives them, for the picture of the tape.
struct Desc : RefCounted {
  Desc(std::string name, Spec spec);
  std::string name;
  const Spec spec;
  const uint64_t id;  // no two are equal
};

class Symbol final : public Value {
 public:
  // Without elements: somebody fills it later, or the tape does that it is given to.
  Symbol(std::string name, Spec spec);
  Symbol(std::string name, Ref<RawTensor> value);

  double priority() const override { return 10; }
  bool spec(Spec& out) const override {
    out = desc->spec;
    return true;
  }
  Ref<Value> lift(Value& other) override;

  // A place that nobody has filled, and no tape will.
  bool is_unfilled() const { return !value_ && tape_ == nullptr; }
  // The elements; the tape that computes them runs as far as that takes.
  const Ref<RawTensor>& value();
  void fill(Ref<RawTensor> value);
  // Gives the elements to a sole owner, who may write over them.
  Ref<RawTensor> take() { return std::move(value_); }

  const Ref<Desc> desc;

 private:
  friend class Tape;
  Ref<RawTensor> value_;
  Tape* tape_ = nullptr;  // that will compute it; null when it has, or nobody will
  size_t index_ = 0;      // by which of its ops
};

class Variable final : public Value {
 public:
  // Empty, until it is filled or an op's result is put into it.
  explicit Variable(std::string name);
  // A place for elements to come: ops can be added already.
  Variable(std::string name, Spec desc);
  Variable(std::string name, Ref<RawTensor> value);

  const std::string& name() const { return name_; }
  bool is_empty() const { return !held_; }
  // Shape and dtype; an error when it is empty.
  const Spec& desc() const;
  // The elements: runs the tape forward up to them, and waits for the engine.
  Ref<RawTensor> value();
  // The same in C order, as numbers of a type that holds them.
  template <class T>
  std::vector<T> elements() {
    const Ref<RawTensor> x = contiguous(*cast(*moved(*value(), Device()), dtype_of<T>));
    return std::vector<T>(x->as<T>(), x->as<T>() + x->size());
  }
  // The only element.
  double item();
  // From now on the variable is this value. Ops that read it before keep the value of then; a place
  // without elements is filled for them too.
  void set_value(Ref<RawTensor> value);
  // The elements, no longer its own: for an update that may write over them. A value must follow.
  Ref<RawTensor> take_value();

  // The gradient that the last Backward gave, as long as its tape lives; empty without one.
  VariableHandle Grad() const;
  // Whether Backward gives it a gradient: true, unless a feeder was the first to fill it.
  bool wants_gradient() const { return wants_gradient_; }
  void set_wants_gradient(bool wants) { wants_gradient_ = wants; }

  double priority() const override { return 1e6; }
  bool spec(Spec& out) const override;
  Ref<Value> lift(Value& other) override;

 private:
  friend class Tape;
  Symbol& symbol() const;

  std::string name_;
  Ref<Value> held_;         // a Symbol, or a Tracer over one; null: empty
  uint64_t result_of_ = 0;  // the number of the tape that computes it; 0: a leaf
  Ref<Variable> gradient_;  // of the tape `gradient_of_`
  uint64_t gradient_of_ = 0;
  bool wants_gradient_ = true;
};

// Numbers nested as Python's lists are; of many only the first and last.
std::ostream& operator<<(std::ostream& out, const RawTensor& value);
std::ostream& operator<<(std::ostream& out, const Ref<RawTensor>& value);

}  // namespace tensorlike::tape
