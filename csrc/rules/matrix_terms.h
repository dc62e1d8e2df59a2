// Gradient rules of matrix factorisations are formulas over matrices; these are the words that they
// are written in. Each is a functional call, so that a rule can be differentiated again.
#pragma once

#include <algorithm>

#include "op/index.h"
#include "op/linear_solvers.h"
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

inline Term conjugate(const Term& x) {
  return kind_of(x.spec().dtype) == Kind::kComplex ? Term{call("conj", {x.get()})} : x;
}

inline Term transpose(const Term& x) {
  std::vector<int64_t> axes(x.spec().shape.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return {call("permute_dims", {x.get()}, {{"axes", axes}})};
}

inline Term number(double value, const Term& like) { return {lift_literal(value, *like.get())}; }

inline Term real_part(const Term& x) {
  return kind_of(x.spec().dtype) == Kind::kComplex ? Term{call("real", {x.get()})} : x;
}
// x without its real part.
inline Term imaginary_part(const Term& x) { return (x - conjugate(x)) * number(0.5, x); }

// The conjugate transpose.
inline Term adjoint(const Term& x) { return transpose(conjugate(x)); }

inline Term reshaped(const Term& x, const Dims& shape) {
  return {
      call("reshape", {x.get()}, {{"shape", std::vector<int64_t>(shape.begin(), shape.end())}})};
}

// Vectors as matrices of one column, or of one row; numbers as matrices of one element.
inline Term as_column(const Term& x) {
  Dims shape = x.spec().shape;
  shape.push_back(1);
  return reshaped(x, shape);
}
inline Term as_row(const Term& x) {
  Dims shape = x.spec().shape;
  shape.insert(shape.size() - 1, 1);
  return reshaped(x, shape);
}
inline Term as_matrix(const Term& x) {
  Dims shape = x.spec().shape;
  shape.push_back(1);
  shape.push_back(1);
  return reshaped(x, shape);
}

// The numbers from `start` on.
inline Term counted(int64_t count, int64_t start = 0) {
  return {call("arange", {}, {{"start", start}, {"stop", start + count}})};
}

// Which elements [i, j] of matrices have j and i + k compare so.
inline Term mask_of(int64_t rows, int64_t columns, const char* compare, int64_t k = 0) {
  const Term numbers = counted(rows, k);
  const Term others = rows == columns && k == 0 ? numbers : counted(columns);
  return {call(compare, {others.get(), as_column(numbers).get()})};
}

// The elements that the mask chooses, and `other` in the place of the others.
inline Term kept(const Term& x, const Term& mask, const Term& other) {
  return {call("where", {mask.get(), x.get(), other.get()})};
}
inline Term kept(const Term& x, const Term& mask) {
  return kept(x, mask, {lift_literal(int64_t{0}, *x.get())});
}

inline Term lower_triangle(const Term& x, int64_t k = 0) {
  return kept(x, mask_of(x.rows(), x.columns(), "less_equal", k));
}
inline Term upper_triangle(const Term& x, int64_t k = 0) {
  return kept(x, mask_of(x.rows(), x.columns(), "greater_equal", k));
}
inline Term diagonal_part(const Term& x) {
  return kept(x, mask_of(x.rows(), x.columns(), "equal"));
}
// Vectors as diagonal matrices.
inline Term diagonal_matrix(const Term& x) {
  return kept(as_row(x), mask_of(x.columns(), x.columns(), "equal"));
}
// The diagonals of matrices as vectors.
inline Term diagonal_of(const Term& x) {
  return {call("sum", {diagonal_part(x).get()}, {{"axis", std::vector<int64_t>{-1}}})};
}

// (x + x^H) / 2.
inline Term hermitian_part(const Term& x) { return (x + adjoint(x)) * number(0.5, x); }

// The inner products of the columns of two matrices, as a row.
inline Term inner_products(const Term& a, const Term& b) {
  const Term products = conjugate(a) * b;
  return {call("sum", {products.get()}, {{"axis", std::vector<int64_t>{-2}}, {"keepdims", true}})};
}

// A complex vector of a factor is determined but for a phase, and the kernels choose that which
// keeps one element real (see tensor/matrix_stack.h). Where the cotangent dv of vectors v, which
// are columns, has a part along that phase (`turn`, the imaginary part of the inner product of both
// and of whatever else turns with them), this moves it onto the element: what comes out is the
// cotangent of functions that no phase changes.
inline Term free_of_phase(const Term& v, const Term& dv, const Term& turn) {
  if (v.rows() == 0) return dv;
  const Term sizes = real_part(conjugate(v) * v);
  const std::pair<std::string, Attr> keepdims = {"keepdims", true};
  const Term largest = {call("max", {sizes.get()}, {{"axis", std::vector<int64_t>{-2}}, keepdims})};
  const Term bound = largest * number(kNearlyLargest, largest);
  const Term is_large = {call("greater_equal", {sizes.get(), bound.get()})};
  const Term ones = {call("astype", {is_large.get()}, {{"dtype", DType::kInt32}})};
  const Term chosen = {call("argmax", {ones.get()}, {{"axis", int64_t{-2}}, keepdims})};
  const Term is_chosen = {call("equal", {as_column(counted(v.rows())).get(), chosen.get()})};
  const Term anchor = {
      call("where", {is_chosen.get(), v.get(), lift_literal(int64_t{0}, *v.get()).get()})};
  return dv - anchor * (turn / inner_products(anchor, anchor));
}

// 1 / (x[j] - x[i]) off the diagonal, which is 0.
inline Term inverse_differences(const Term& x) {
  const Term differences = as_row(x) - as_column(x);
  const Term apart = mask_of(x.columns(), x.columns(), "not_equal");
  return kept(number(1, x) / kept(differences, apart, number(1, x)), apart);
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

inline Term solved(const Term& a, const Term& b) { return {call("solve", {a.get(), b.get()})}; }
inline Term solved_triangular(const Term& a, const Term& b, bool is_upper, bool is_left = true,
                              bool is_unit = false) {
  return {call("solve_triangular", {a.get(), b.get()},
               {{"upper", is_upper}, {"left", is_left}, {"unitriangular", is_unit}})};
}
inline Term inverted(const Term& x) { return {call("inv", {x.get()})}; }

// All results of a call.
inline std::vector<Term> results_of(const char* function, const Term& x, std::vector<Attr> attrs) {
  const Function* found = registry().find_function(function);
  const Ref<Op> op = found->shared_op ? found->shared_op : found->make_op(std::move(attrs));
  Value* args[] = {x.get()};
  std::vector<Term> results;
  for (const Ref<Value>& value : apply(*op, args)) results.push_back({value});
  return results;
}

inline Term input(const GradCall& c, size_t i) { return term(c.inputs[i]); }
inline Term output(const GradCall& c, size_t i) { return term(c.outputs[i]); }
inline bool flows(const GradCall& c, size_t i) { return c.cotangents[i] != nullptr; }
// The cotangent of an output; zeros where none flows.
inline Term cotangent(const GradCall& c, size_t i) {
  if (flows(c, i)) return term(c.cotangents[i]);
  Value* const like = *std::find_if(c.cotangents.begin(), c.cotangents.end(),
                                    [](Value* x) { return x != nullptr; });
  return {zeros(c.node.outputs[i], *like)};
}

}  // namespace tensorlike
