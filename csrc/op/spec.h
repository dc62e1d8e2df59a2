// What a declaration says, as C++ data. The generator emits the built-in declarations as texts, of
// which the Registry makes these when somebody asks for one by its name; `declare` at run time adds
// the same structs. Nothing else in the core knows an op by name. Bodies and gradients are read
// from these texts in their turn: most programs need few.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/late.h"
#include "op/attr.h"

namespace tensorlike {

// The Array API standard's dtype categories, and what has an order: real numbers and booleans.
enum class Category : uint8_t {
  kAll,
  kNumeric,
  kRealNumeric,
  kRealOrBoolean,
  kFloating,
  kRealFloating,
  kInteger,
  kIntegerOrBoolean,
  kBoolean
};

// How the result's dtype follows from the promoted dtype of the inputs.
enum class Result : uint8_t {
  kSame,     // the promoted dtype
  kBool,     // bool
  kInt64,    // int64
  kSum,      // as kSame, but integers and booleans accumulate in int64, unsigned ones in uint64
  kReal,     // the dtype of the promoted dtype's parts
  kComplex,  // the complex dtype of such parts
};

// A step's attribute: a literal, the value of an attribute of the op whose rule this is, the shape
// of a slot, one dimension, rank or dtype of it, whether anything flows into it, arithmetic on such
// parts, or a tuple of them. In declared shapes a slot is an argument, a dimension may be that
// along a calculated axis (the one part), and there are the sizes that patterns have found.
struct AttrExpr {
  enum class Kind : uint8_t {
    kLiteral,
    kAttr,
    kShape,
    kDim,
    kDType,
    kArithmetic,
    kTuple,
    kSize,
    kRank,
    kFlows
  };
  Kind kind = Kind::kLiteral;
  Attr literal = {};
  std::string attr = {};  // the attribute, the function of the arithmetic, or what errors call it
  int slot = 0;
  int dim = 0;
  std::vector<AttrExpr> parts = {};
};

inline AttrExpr literal(Attr value) { return {AttrExpr::Kind::kLiteral, std::move(value)}; }
inline AttrExpr attr(std::string name) { return {AttrExpr::Kind::kAttr, {}, std::move(name)}; }
inline AttrExpr shape_of(int slot) { return {AttrExpr::Kind::kShape, {}, {}, slot}; }
inline AttrExpr dim_of(int slot, int dim) { return {AttrExpr::Kind::kDim, {}, {}, slot, dim}; }
inline AttrExpr dtype_of_slot(int slot) { return {AttrExpr::Kind::kDType, {}, {}, slot}; }
inline AttrExpr flows_into(int slot) { return {AttrExpr::Kind::kFlows, {}, {}, slot}; }
inline AttrExpr arithmetic(std::string function, std::vector<AttrExpr> parts) {
  return {AttrExpr::Kind::kArithmetic, {}, std::move(function), 0, 0, std::move(parts)};
}
inline AttrExpr tuple_of(std::vector<AttrExpr> parts) {
  return {AttrExpr::Kind::kTuple, {}, {}, 0, 0, std::move(parts)};
}

inline AttrExpr size_of_slot(int slot, std::string name) {
  return {AttrExpr::Kind::kSize, {}, std::move(name), slot};
}
inline AttrExpr rank_of(int slot, std::string name) {
  return {AttrExpr::Kind::kRank, {}, std::move(name), slot};
}
inline AttrExpr dim_along(int slot, std::string name, AttrExpr axis) {
  return {AttrExpr::Kind::kDim, {}, std::move(name), slot, 0, {std::move(axis)}};
}

// One functional call of a body: `call` is a functional name ("mul", "sum", "matmul"), or a
// pseudo-call: "size", the number of elements of its slot, and "attribute", the number that an
// attribute of the op is, are literals; "if" is the first of two slots where its attribute holds,
// else the second; "raise" is an error.
struct Step {
  std::string call;
  std::vector<int> args;
  std::vector<std::pair<std::string, AttrExpr>> attrs = {};
  int outputs = 1;
};

// A parsed expression, lowered to straight-line calls. Slots: the inputs come first, then the
// constants (Python literals: an integer stays an integer), then one per result of a step.
struct Body {
  int inputs = 0;
  std::vector<Literal> constants = {};
  std::vector<Step> steps = {};
  std::vector<int> results = {};
};

// The gradient of one input. The body's inputs are, in order, the op's inputs, its outputs, and
// the outputs' cotangents; what it does not read is not kept alive. Specs hold `complex_grads`
// where an input or output that is complex needs other ones than `grads`. A rule that `adds_up` has
// one input more: what has arrived for the op's input so far, to which it adds. Of several rules of
// an input, each is for one value, `choice`, of the attribute `match`. The further results of the
// body are the gradients of the inputs `beside`.
struct Grad {
  int input = 0;
  Body body;
  bool adds_up = false;
  std::string match = {};
  std::string choice = {};
  std::vector<int> beside = {};
};

// What must hold of numbers that are given: of arguments of a scalar function, or of attributes of
// an op; these are the body's inputs, in their order. `text` is the condition as it was declared.
struct Condition {
  std::string text;
  Body body;
};

struct ArgSpec {
  std::string name;
  Category category = Category::kAll;
  bool variadic = false;
  bool optional = false;  // a variadic one of at most one tensor
  Attr fallback = {};     // the number that a functional call takes where none is given
};

// A scalar function: a mode of Elemwise.
struct ScalarSpec {
  std::string name;
  std::vector<ArgSpec> args;
  Result result = Result::kSame;
  int outputs = 1;
  Late<std::vector<Grad>> grads = {};
  Late<std::vector<Grad>> complex_grads = {};
  bool differentiable = true;  // false: declared `grad: none`
  // The expression as calls of other scalar functions; no steps: the function is native.
  Late<Body> expansion = {};
  bool derived = false;  // a derivative that the generator fused: see Op::is_fused
  std::optional<Category> unchanged = {};  // the numbers that come out as they are
  std::vector<Condition> conditions = {};
  std::vector<std::vector<int>> linear = {};  // as that of an OpSpec
  std::string source = {};
};

// A reduction: a mode of Reduce. Gradient bodies see y and dy with the reduced axes kept as 1;
// the result is broadcast back to x. One declared at run time brings its meaning: `map` of an
// element, `combine` of two results, `finish` of the last one and the number of elements.
struct ReductionSpec {
  std::string name;
  ArgSpec arg;
  Result result = Result::kSame;
  Late<std::vector<Grad>> grads = {};
  Late<std::vector<Grad>> complex_grads = {};
  bool differentiable = true;
  bool has_identity = true;  // false: an empty reduction is an error (max, argmax)
  bool single_axis = false;  // argmax, argmin
  bool linear = false;       // of a sum of tensors it is the sum of what each gives
  Body map = {};
  Body combine = {};
  Body finish = {};
  std::string init = {};  // "0", "1", "lowest", "highest", "false" or "true"
  std::string source = {};
};

struct AttrSpec {
  std::string name;
  const AttrType* type;
  bool required = true;
  Attr fallback = {};
  std::vector<std::string> choices = {};  // the words that it may be, where those are declared
};

// In which dtype a kernel computes: inputs that are declared to hold numbers with fractions come in
// it, outputs are converted from it.
enum class ComputesIn : uint8_t {
  kAsGiven,
  kResult,    // the dtype in which the first result's is computed: float32 for halves
  kPromoted,  // that of the promoted dtype of those inputs
};

// What a kernel wants of memory.
struct MemorySpec {
  bool view = false;        // the results are views of the first input, where strides can say it
  uint32_t contiguous = 0;  // bit i: input i lies in order; the last bit is for a variadic one
  ComputesIn computes_in = ComputesIn::kAsGiven;
  int reuses = -1;  // the input whose memory the first output may take
};

// A part of a declared shape. Groups are runs of sizes: first the whole shapes of the arguments,
// then those that patterns name.
struct ShapePart {
  enum class Kind : uint8_t {
    kSize,         // one size; in a pattern a name or a number
    kGroup,        // the sizes of a group
    kResized,      // those of a group, that along `axis` being `size`
    kReduced,      // those of a group without the axes that `axis` names; with, as 1, if `size`
    kReducedSome,  // the same, where none of those axes may be empty
    kHeld,         // the sizes that the attribute `size` holds
    kPermuted,     // those of a group in the order that `axis` names
  };
  Kind kind = Kind::kSize;
  int group = 0;
  AttrExpr size = {};
  AttrExpr axis = {};
};

// The pattern of an argument's shape, or what it must broadcast to.
struct ArgShape {
  int arg = 0;
  bool broadcasts = false;
  std::vector<ShapePart> parts = {};
  std::string text = {};
};

// The dtype of a result: the joint one of the arguments (promoted, of those of the first one's
// category), its real or complex counterpart, that of one argument, a given one, that which an
// attribute names, or what the scalar function that an attribute names makes of the joint one.
struct ResultShape {
  enum class Of : uint8_t { kJoint, kReal, kComplex, kArg, kGiven, kAttr, kScalar };
  Of of = Of::kJoint;
  int from = 0;  // the argument, or the attribute
  DType dtype = {};
  std::vector<ShapePart> parts = {};
  AttrExpr when = literal(true);  // there is such a result
};

// One way in which the shapes of arguments make those of results.
struct ShapeCase {
  AttrExpr when = literal(true);
  std::vector<ArgShape> args = {};
  std::vector<ResultShape> results = {};
};

// What must hold of sizes.
struct SizeCondition {
  std::string text;
  AttrExpr holds;
};

// Inference as it is declared: the first case whose patterns have as many dimensions as the
// arguments. `broadcast` is the group "...", whose sizes broadcast between arguments; the sizes of
// others are equal.
struct ShapeSpec {
  int sizes = 0;
  int groups = 0;
  int broadcast = -1;
  std::vector<ShapeCase> cases = {};
  std::vector<SizeCondition> conditions = {};
};

// An op class.
struct OpSpec {
  std::string name;
  std::vector<ArgSpec> args;
  std::vector<AttrSpec> attrs = {};
  int outputs = 1;          // -1: depends on the attributes (Split)
  std::string infer = {};   // name of the inference rule; empty: through the body
  std::string kernel = {};  // name of the CPU kernel; empty: the body runs
  std::string grad = {};    // name of a hand-written gradient; empty: `grads` or through the body
  Late<std::vector<Grad>> grads = {};
  Late<std::vector<Grad>> complex_grads = {};
  bool differentiable = true;
  Late<Body> define = {};
  std::string expand = {};  // name of a hand-written body; empty: `define`, or none
  // Groups of arguments, by position: the op is linear in each while the other arguments stay. An
  // optional argument in a group is an addend.
  std::vector<std::vector<int>> linear = {};
  std::string batch = {};  // how an axis of examples goes through it; empty: through the body
  MemorySpec memory = {};
  std::vector<Condition> conditions = {};
  ShapeSpec shapes = {};     // no cases: `infer`, or the body
  std::string effects = {};  // "random": a draw, which nobody may repeat or do before its time
  // Pairs of an argument (-1: the result) and its axis: what scales the result along its axis may
  // scale these arguments along theirs instead.
  std::vector<std::vector<int>> channels = {};
  std::string source = {};
  int version = 1;  // of an older one than the newest, the name is `NameV1`
};

// A functional call: positional tensor-likes, keyword attributes, and the op that they make.
struct FunctionSpec {
  std::string name;
  std::string op;                                        // "Elemwise", "Reduce", "MatMul"
  std::vector<std::pair<std::string, Attr>> fixed = {};  // {"mode", "add"}
  std::vector<ArgSpec> args = {};
  std::vector<AttrSpec> attrs = {};
};

using AnySpec = std::variant<ScalarSpec, ReductionSpec, OpSpec, FunctionSpec>;

}  // namespace tensorlike
