// Ops at run time: classes, instances with their attributes, and what the declarations of scalar
// functions, reductions and functional calls turn into.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/device.h"
#include "base/ref.h"
#include "base/shape.h"
#include "memory/array.h"
#include "op/launch_plans.h"
#include "op/spec.h"
#include "op/type.h"

namespace tensorlike {

class Op;
class RawTensor;
class Value;
class Workspace;
struct CompiledBody;
struct GradCall;
// What the CPU has of a scalar function, of a reduction, and of an op that reduces: csrc/cpu.
struct ScalarLoops;
struct ReductionLoops;
struct ReduceRule;

using Values = SmallVector<Ref<Value>, 2>;
using Args = std::span<Value* const>;
using RawArgs = std::span<RawTensor* const>;

using InferRule = Specs (*)(const Op& op, std::span<const Spec> inputs);
// Computes outputs that have memory, in order and not set, from inputs that lie as the declaration
// asks for. Runs on any thread, so that it owns no tensors: what it needs beside the outputs comes
// from the workspace.
using Kernel = void (*)(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace);
// Sets the sizes that depend on elements: what inference left as kUnknownSize.
using SizeRule = void (*)(const Op& op, Arrays inputs, Specs& outputs, Workspace& workspace);
// How a result sees the elements of the first input.
struct View {
  Dims shape, strides;
  int64_t offset = 0;  // in elements
};
using Views = SmallVector<View, 1>;
// The views that the results are; false where strides cannot say it, and the kernel copies.
using ViewRule = bool (*)(const Op& op, const Array& x, const Specs& outputs, Views& views);
// The axes of a result as they follow each other in memory, outermost first, where its kernel
// writes it best in another order than the axes' own (empty: in that).
using OrderRule = Dims (*)(const Op& op, Arrays inputs, const Spec& output);
// A kernel written outside of C++, which makes its results itself, where it is called.
using ForeignKernel = Values (*)(const Op& op, RawArgs inputs, const Specs& outputs);
struct KernelRule {
  constexpr KernelRule() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): tables of rules list functions
  constexpr KernelRule(Kernel run, SizeRule sizes = nullptr) : run(run), sizes(sizes) {}
  constexpr explicit KernelRule(ForeignKernel foreign) : foreign(foreign) {}

  Kernel run = nullptr;
  SizeRule sizes = nullptr;
  ForeignKernel foreign = nullptr;

  explicit operator bool() const { return run != nullptr || foreign != nullptr; }
};
// A hand-written gradient: fills call.results. What it reads beyond shapes it must list.
struct GradRule {
  void (*run)(GradCall& call) = nullptr;
  uint32_t inputs_read = 0;  // bit i: the value of input i
  bool outputs_read = false;
  // Where it depends on the op's attributes whether the outputs are read, or any input.
  bool (*reads_outputs)(const Op& op) = nullptr;
  bool (*reads_inputs)(const Op& op) = nullptr;
  // Adds to what has arrived for an input (GradCall::take_total) instead of giving a summand.
  bool adds_up = false;
};

// What an op means in calls of other ops, where a body cannot be declared.
using ExpandRule = Values (*)(const Op& op, Args inputs);

// The gradient of one input, ready to run.
struct CompiledGrad {
  int input = 0;
  std::shared_ptr<CompiledBody> body;
  bool adds_up = false;
  std::vector<int> beside = {};  // the inputs whose gradients are the body's further results
};

// What both kinds of mode (and ops with declared gradients) share.
struct Gradients {
  bool differentiable = true;
  std::vector<CompiledGrad> rules;
  uint32_t inputs_read = 0;  // which values the rules read: the others are not kept alive
  uint32_t outputs_read = 0;
  int outputs = 1;  // how many the rules count, and as many cotangents
  // Where an input or output is complex; null: the same.
  std::shared_ptr<const Gradients> complex = nullptr;
  // By the values of the attribute of this number, where rules differ between them.
  int match = -1;
  std::vector<std::pair<std::string, std::shared_ptr<const Gradients>>> choices;

  const Gradients& of(bool is_complex) const {
    return is_complex && complex != nullptr ? *complex : *this;
  }
};

struct CompiledCondition {
  std::string text;
  std::shared_ptr<CompiledBody> body;
};

struct TileProgramCache;
struct ReductionProgram;

class Scalar {
 public:
  explicit Scalar(ScalarSpec spec);
  ~Scalar();
  ScalarSpec spec;
  // The dtypes in which it was compiled ahead of time: it is one instruction there, elsewhere its
  // expansion.
  ByDType<bool> is_compiled;
  const ScalarLoops* loops = nullptr;  // null: none
  Late<Gradients> gradients;
  Late<CompiledBody> expansion;  // nothing: native
  std::vector<CompiledCondition> conditions;
  // The promoted dtype of arguments of these dtypes; checks categories. Kernels compute in its
  // compute_of.
  DType compute_dtype(std::span<const DType> args) const;
  DType result_dtype(DType compute) const;
  Ref<Op> op;  // Elemwise(mode=name)
  std::unique_ptr<TileProgramCache> programs;
};

// ErrorKind::kDType, with what the argument must be.
[[noreturn]] void fail_category(const std::string& op, const ArgSpec& arg, DType got);

// Whether a reduction takes numbers of this kind: booleans count as numbers, and what must be
// floating-point may be cast.
bool reduces(Category category, Kind kind);

class Reduction {
 public:
  explicit Reduction(ReductionSpec spec);
  ~Reduction();
  ReductionSpec spec;
  const ReductionLoops* loops = nullptr;
  // Of one declared at run time: its parts, and the programs that they make, by the dtype of the
  // elements.
  std::shared_ptr<CompiledBody> map, combine, finish;
  ByDType<std::unique_ptr<ReductionProgram>> programs;
  Late<Gradients> gradients;
  DType result_dtype(DType input) const;
  // ErrorKind::kDType unless the category takes it.
  void check_dtype(DType input) const;
};

// A class of ops. `plain` says that no user's rule can match when all arguments are built-in
// tensor-likes, so that dispatch need not look.
class OpClass : public Type {
 public:
  OpClass(OpSpec spec, const Type* parent) : Type(spec.name, parent), spec(std::move(spec)) {}
  // What the attribute `mode` names, where the class has one.
  enum class Family : uint8_t { kElemwise, kReduce, kOther };
  OpSpec spec;
  Family family = Family::kOther;
  bool is_declared = false;  // the core knows its parameters
  InferRule infer = nullptr;
  ViewRule view = nullptr;
  OrderRule order = nullptr;
  const ReduceRule* reduce = nullptr;  // beside the CPU's kernel, which follows from it
  GradRule grad = {};
  Late<Gradients> gradients;
  Late<CompiledBody> define;
  ExpandRule expand = nullptr;  // in the place of `define`
  std::vector<CompiledCondition> conditions;
  mutable std::atomic<bool> plain{true};
  std::shared_ptr<const void> own;  // what kernel and inference read: OwnRules, in op/registry.h
  int device_attr = -1;             // which attribute says where the results live; -1: none

  // Without a kernel on a device, an op runs through its body there.
  const KernelRule& kernel(Device device) const { return owner_->kernels_[device.kind]; }
  bool has_kernel() const { return owner_->has_kernel_; }  // on some device
  void set_kernel(uint8_t kind, KernelRule rule) {
    kernels_[kind] = rule;
    has_kernel_ = has_kernel_ || static_cast<bool>(rule);
  }
  // What runs for `other` runs for this class too.
  void share_kernels(const OpClass& other) {
    owner_ = other.owner_;
    view = other.view;
    order = other.order;
    reduce = other.reduce;
  }

  int attr_index(std::string_view name) const;

 private:
  const OpClass* owner_ = this;  // of the kernels
  std::array<KernelRule, kMostKinds> kernels_ = {};
  bool has_kernel_ = false;
};

class Op : public RefCounted {
 public:
  explicit Op(const OpClass& op_class) : cls(op_class) {}

  const OpClass& cls;
  std::vector<Attr> attrs;               // in the class's order
  const Scalar* scalar = nullptr;        // of an Elemwise
  const Reduction* reduction = nullptr;  // of a Reduce
  // What a user wrote about this op beside its parameters: name, device, dtype.
  std::vector<std::pair<std::string, Attr>> config;
  // Where the binding keeps the Python object of a shared op.
  mutable void* handle = nullptr;
  mutable LaunchPlans plans;

  // "gelu" for Elemwise(mode="gelu"), else the functional name or the class: for errors.
  virtual std::string name() const;
  // Applies the op's body, where it has one that is not a CompiledBody.
  virtual bool run_define(Args, Values&) const { return false; }
  // Whether it has a body, of one kind or the other.
  virtual bool has_body() const { return cls.define || cls.expand != nullptr; }
  // Whether it runs as one, and has a body beside that. Where such an op has no gradient rule it is
  // recorded as it is, and its body runs when somebody differentiates it: so the body of an op that
  // is itself a gradient is for second derivatives alone.
  bool is_fused() const {
    return scalar != nullptr ? scalar->spec.derived : cls.has_kernel() && has_body();
  }
  // Gradients of the inputs, where the op brings its own rule: see tape/gradient.h.
  virtual const GradRule& grad_rule() const { return cls.grad; }
  const Attr& attr(std::string_view name) const;
  template <class T>
  const T& get(std::string_view name) const {
    return std::get<T>(attr(name));
  }
  // Same class and attributes; NaN is equal to itself, since ops are values.
  bool equals(const Op& other) const;
};

// ErrorKind::kOverflow unless the dtype holds the literal.
void check_literal(const Literal& literal, DType dtype);

// "Reduce(mode='sum', axis=0, keepdims=False, dtype=None)".
std::string to_string(const Op& op);
std::string to_string(const Attr& attr);

// A functional call.
class Function {
 public:
  FunctionSpec spec;
  const OpClass* op_class = nullptr;
  Ref<Op> shared_op;  // when the call has no attributes
  // Which attributes of the op the fixed ones, and then the call's own, are.
  std::vector<size_t> places;

  // The op for these attribute values, in spec.attrs' order.
  Ref<Op> make_op(std::vector<Attr> attrs) const;
};

// Attributes by name; missing ones take their defaults; unknown ones, and values of the wrong
// type, are ErrorKind::kAttribute.
Ref<Op> make_op(const OpClass& cls, std::vector<std::pair<std::string, Attr>> attrs);

// A body with its calls resolved.
struct CompiledStep {
  const Function* function = nullptr;  // null, without an op: a pseudo-call
  std::vector<int> args;
  std::vector<std::pair<int, AttrExpr>> attrs;  // index into function->spec.attrs
  Ref<Op> op;                                   // when no attribute depends on the run
  int outputs = 1;
  enum class Kind : uint8_t { kCall, kSize, kAttribute, kChoice, kRefusal };
  Kind kind = Kind::kCall;
  int slot = 0;                  // of its first result
  std::vector<uint32_t> linear;  // groups of args (bits): zeros for one of them give zeros
};

struct CompiledBody {
  int inputs = 0;
  std::vector<Literal> constants;
  std::vector<CompiledStep> steps;
  std::vector<int> results;
  bool has_choices = false;
};

}  // namespace tensorlike
