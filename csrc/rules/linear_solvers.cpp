// Gradients of factors of matrices, inverses and solutions of equations.
// Sources: M. Giles, An extended collection of matrix derivative results (2008); I. Murray,
// Differentiation of the Cholesky decomposition (2016); G. Golub and V. Pereyra (1973) for least
// squares.
#include "op/families.h"
#include "rules/matrix_terms.h"

namespace tensorlike {
namespace {

// The gradient by x of a factor l with x = l l^H: that by the Hermitian part, which is all that the
// factor depends on.
void grad_cholesky(GradCall& c) {
  const bool is_upper = c.op.get<bool>("upper");
  const Term l = is_upper ? adjoint(output(c, 0)) : output(c, 0);
  const Term dl = is_upper ? adjoint(cotangent(c, 0)) : cotangent(c, 0);
  const Term flow = product(adjoint(l), dl);
  const Term half = lower_triangle(flow) - diagonal_part(flow) * number(0.5, flow);
  const Term right = solved_triangular(l, half, false, false);
  c.result(0) = hermitian_part(solved_triangular(adjoint(l), right, true)).value;
}

// The gradient of x = q r with a square r. A phase for each column of q is free; r's diagonal is
// real, which fixes them.
Term square_qr(const Term& q, const Term& r, const Term& dq, const Term& dr) {
  const Term flow = product(r, adjoint(dr)) - product(adjoint(dq), q);
  const Term below = lower_triangle(flow, -1);
  const Term mirrored = below + adjoint(below) + diagonal_part(real_part(flow));
  return solved_triangular(adjoint(r), dq + product(q, mirrored), false, false);
}

void grad_qr(GradCall& c) {
  const Term q = output(c, 0);
  const Term r = output(c, 1);
  const Term dq = cotangent(c, 0);
  const Term dr = cotangent(c, 1);
  const int64_t k = q.columns();
  const int64_t n = r.columns();
  if (q.rows() > n && c.op.get<std::string>("mode") == "complete") {
    fail(ErrorKind::kAutodiff, said::op(c.op.name()),
         "a complete Q of a matrix with more rows than columns has no gradient, since the columns "
         "behind the first are not determined; use mode='reduced'.");
  }
  if (n == k) {
    c.result(0) = square_qr(q, r, dq, dr).value;
    return;
  }
  // The first columns of x decide on q; the others are q times those of r.
  const Term rest = part(dr, false, k, n);
  const Term first =
      square_qr(q, part(r, false, 0, k),
                dq + product(part(input(c, 0), false, k, n), adjoint(rest)), part(dr, false, 0, k));
  c.result(0) = joined(first, product(q, rest), false).value;
}

// Of x[order] = l u, where l may have more rows than columns, or u more columns than rows.
void grad_lu(GradCall& c) {
  const Term l = output(c, 1);
  const Term u = output(c, 2);
  const Term dl = cotangent(c, 1);
  const Term du = cotangent(c, 2);
  const int64_t m = l.rows();
  const int64_t n = u.columns();
  const int64_t k = l.columns();
  const Term l1 = part(l, true, 0, k);
  const Term u1 = part(u, false, 0, k);
  Term below = product(adjoint(l1), part(dl, true, 0, k));
  Term above = product(part(du, false, 0, k), adjoint(u1));
  if (m > k) above = above - product(adjoint(part(l, true, k, m)), part(dl, true, k, m));
  if (n > k) below = below - product(part(du, false, k, n), adjoint(part(u, false, k, n)));
  const Term core = lower_triangle(below, -1) + upper_triangle(above);
  const Term right = solved_triangular(adjoint(u1), core, false, false);
  Term dx = solved_triangular(adjoint(l1), right, true, true, true);
  if (m > k) {
    dx = joined(dx, solved_triangular(adjoint(u1), part(dl, true, k, m), false, false), true);
  }
  if (n > k) {
    dx = joined(dx, solved_triangular(adjoint(l1), part(du, false, k, n), true, true, true), false);
  }
  // Back into the order that x has: multiplied by the transposed matrix of the permutation.
  const Term order = {call("one_hot", {c.outputs[0]}, {{"depth", m}})};
  const Term swapped = transpose({call("astype", {order.get()}, {{"dtype", dx.spec().dtype}})});
  c.result(0) = product(swapped, dx).value;
}

// Runs a rule for right sides that are matrices: vectors are those of one column (or row). The rule
// is given the solution and its cotangent, and gives the gradients of both inputs.
template <class Rule>
void with_matrices(GradCall& c, bool is_column, Rule rule) {
  const bool is_vector = c.node.input_spec(1).shape.size() == 1;
  auto seen = [&](const Term& x) {
    if (!is_vector) return x;
    return is_column ? as_column(x) : as_row(x);
  };
  const auto [by_matrix, by_sides] = rule(seen(output(c, 0)), seen(cotangent(c, 0)));
  if (c.wants(0)) c.result(0) = by_matrix().value;
  if (!c.wants(1)) return;
  Dims shape = by_sides.spec().shape;
  if (is_vector) {  // without the one column, or the one row
    shape[shape.size() - 2] = is_column ? by_sides.rows() : by_sides.columns();
    shape.resize(shape.size() - 1);
  }
  c.result(1) = is_vector ? reshaped(by_sides, shape).value : by_sides.value;
}

void grad_solve(GradCall& c) {
  with_matrices(c, true, [&](const Term& x, const Term& dx) {
    const Term db = solved(adjoint(input(c, 0)), dx);
    return std::pair([=] { return -product(db, adjoint(x)); }, db);
  });
}

void grad_solve_triangular(GradCall& c) {
  const bool is_upper = c.op.get<bool>("upper");
  const bool is_left = c.op.get<bool>("left");
  const bool is_unit = c.op.get<bool>("unitriangular");
  with_matrices(c, is_left, [&](const Term& x, const Term& dx) {
    const Term db = solved_triangular(adjoint(input(c, 0)), dx, !is_upper, is_left, is_unit);
    auto by_matrix = [=] {
      const Term da = is_left ? -product(db, adjoint(x)) : -product(adjoint(x), db);
      return is_upper ? upper_triangle(da, is_unit) : lower_triangle(da, is_unit ? -1 : 0);
    };
    return std::pair(by_matrix, db);
  });
}

// With the pseudo-inverse p of a, x = p b. Where the rank stays the same,
// dx = -p da x + p p^H da^H (b - a x) + (1 - p a) da^H p^H x; products with p are least squares.
void grad_least_squares(GradCall& c) {
  Term by_values;
  if (flows(c, 2) && c.wants(0)) {
    const std::vector<Term> found = results_of("svd", input(c, 0), {false, true});
    by_values = product(found[0] * as_row(cotangent(c, 2)), found[2]);
    c.result(0) = by_values.value;
  }
  if (!flows(c, 0)) return;
  const Attr rtol = c.op.attr("rtol");
  auto nearest = [&](const Term& a, const Term& b) {
    return Term{call("lstsq", {a.get(), b.get()}, {{"rtol", rtol}})};
  };
  const Term a = input(c, 0);
  const Term ah = adjoint(a);
  const bool is_vector = c.node.input_spec(1).shape.size() == 1;
  const Term b = is_vector ? as_column(input(c, 1)) : input(c, 1);
  with_matrices(c, true, [&](const Term& x, const Term& dx) {
    const Term back = nearest(ah, dx);  // p^H dx
    auto by_matrix = [&, x, dx, back] {
      const Term residual = b - product(a, x);
      const Term rest = dx - product(ah, back);
      return product(residual, adjoint(nearest(a, back))) + product(nearest(ah, x), adjoint(rest)) -
             product(back, adjoint(x));
    };
    return std::pair(by_matrix, back);
  });
  if (by_values.value) c.result(0) = (Term{c.result(0)} + by_values).value;
}

// The derivative of exp at x^H along dy stands beside exp(x^H) in exp([[x^H, dy], [0, x^H]]).
void grad_matrix_exp(GradCall& c) {
  const Term x = adjoint(input(c, 0));
  const Term dy = cotangent(c, 0);
  const int64_t n = x.rows();
  const Term zero = {zeros(c.node.outputs[0], *x.get())};
  const Term blocks = joined(joined(x, dy, false), joined(zero, x, false), true);
  const Term whole = {call("matrix_exp", {blocks.get()})};
  c.result(0) = part(part(whole, true, 0, n), false, n, 2 * n).value;
}

constexpr std::pair<std::string_view, GradRule> kRules[] = {
    {"cholesky", {grad_cholesky, 0, true}},
    {"qr", {grad_qr, 1U, true}},
    {"lu", {grad_lu, 0, true}},
    {"solve", {grad_solve, 1U, true}},
    {"solve_triangular", {grad_solve_triangular, 1U, true}},
    {"least_squares", {grad_least_squares, 3U, true}},
    {"matrix_exp", {grad_matrix_exp, 1U, false}},
};

}  // namespace

RuleTable<GradRule> linear_solver_gradients() { return kRules; }

}  // namespace tensorlike
