// Bodies of gradients that are written in code are formulas over matrices; these are the words that
// they are written in. Each is a functional call, so that a body can be differentiated again.
#pragma once

#include <algorithm>

#include "op/index.h"
#include "op/registry.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike {

// A stack of matrices (or of vectors, or a batch of numbers) in a formula.
struct Term {
  Ref<Value> value;

  Value* get() const { return value.get(); }
  Spec spec() const { return spec_of("gradient", *value); }
  int64_t rows() const { return spec().shape[spec().shape.size() - 2]; }
  int64_t columns() const { return spec().shape.back(); }

  friend Term operator+(const Term& a, const Term& b) { return {call("add", {a.get(), b.get()})}; }
  friend Term operator-(const Term& a, const Term& b) {
    return {call("subtract", {a.get(), b.get()})};
  }
  friend Term operator-(const Term& a) { return {call("negative", {a.get()})}; }
  // Element by element.
  friend Term operator*(const Term& a, const Term& b) {
    return {call("multiply", {a.get(), b.get()})};
  }
  friend Term operator/(const Term& a, const Term& b) {
    return {call("divide", {a.get(), b.get()})};
  }
};

inline Term term(Value* value) { return {Ref<Value>(value)}; }

// The matrix product.
inline Term product(const Term& a, const Term& b) { return {call("matmul", {a.get(), b.get()})}; }

inline Term transpose(const Term& x) {
  std::vector<int64_t> axes(x.spec().shape.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return {call("permute_dims", {x.get()}, {{"axes", axes}})};
}

inline Term number(double value, const Term& like) { return {lift_literal(value, *like.get())}; }

inline Term reshaped(const Term& x, const Dims& shape) {
  return {
      call("reshape", {x.get()}, {{"shape", std::vector<int64_t>(shape.begin(), shape.end())}})};
}

// Vectors as matrices of one column.
inline Term as_column(const Term& x) {
  Dims shape = x.spec().shape;
  shape.push_back(1);
  return reshaped(x, shape);
}

// The numbers from 0 on.
inline Term counted(int64_t count) {
  return {call("arange", {}, {{"start", int64_t{0}}, {"stop", count}})};
}

// Rows or columns from begin to end.
inline Term part(const Term& x, bool is_of_rows, int64_t begin, int64_t end) {
  const size_t ndim = x.spec().shape.size();
  std::vector<int64_t> items;
  for (size_t i = 0; i < ndim; ++i) {
    items.insert(items.end(),
                 {static_cast<int64_t>(ItemKind::kSlice), kNoBound, kNoBound, kNoBound});
  }
  const size_t at = (ndim - (is_of_rows ? 2 : 1)) * 4;
  items[at + 1] = begin;
  items[at + 2] = end;
  return {call("subtensor", {x.get()}, {{"items", items}})};
}

inline Term joined(const Term& a, const Term& b, bool is_of_rows) {
  return {call("concat", {a.get(), b.get()}, {{"axis", int64_t{is_of_rows ? -2 : -1}}})};
}

// All results of a call.
inline std::vector<Term> results_of(const char* function, const Term& x, std::vector<Attr> attrs) {
  const Function* found = registry().find_function(function);
  const Ref<Op> op = found->shared_op ? found->shared_op : found->make_op(std::move(attrs));
  Value* args[] = {x.get()};
  std::vector<Term> results;
  for (const Ref<Value>& value : apply(*op, args)) results.push_back({value});
  return results;
}

inline bool flows(const GradCall& c, size_t i) { return c.cotangents[i] != nullptr; }
// The cotangent of an output; zeros where none flows.
inline Term cotangent(const GradCall& c, size_t i) {
  if (flows(c, i)) return term(c.cotangents[i]);
  Value* const like = *std::find_if(c.cotangents.begin(), c.cotangents.end(),
                                    [](Value* x) { return x != nullptr; });
  return {zeros(c.node.outputs()[i], *like)};
}

}  // namespace tensorlike
