// Gradients of singular values, eigenvalues and their vectors. Those of vectors exist where the
// values are distinct; those of complex ones hold for the phases that the kernels choose.
// Sources: M. Giles, An extended collection of matrix derivative results (2008); Z. Wan and S.
// Zhang, Automatic differentiation for complex valued SVD (2019).
#include "op/families.h"
#include "rules/matrix_terms.h"

namespace tensorlike {
namespace {

std::vector<Term> reduced_svd(const Term& x) { return results_of("svd", x, {false, true}); }

// u diag(s) vh.
Term rebuilt(const Term& u, const Term& s, const Term& vh) { return product(u * as_row(s), vh); }

bool has_vectors(const Op& op) { return op.get<bool>("compute_vectors"); }

bool is_complex_number(const Term& x) { return kind_of(x.spec().dtype) == Kind::kComplex; }

// What flows back through u (m, k), where the part of it that s and vh do not see is `outside`.
Term through_vectors(const Term& u, const Term& du, const Term& s, Term& inside) {
  const Term seen = product(adjoint(u), du);
  inside = inverse_differences(s * s) * (seen - adjoint(seen));
  return u.rows() > u.columns() ? du - product(u, seen) : Term{};
}

// Cotangents of both kinds of vectors, as columns; null where nothing flows.
struct VectorCotangents {
  Term u, v;
  Term turned;  // what a turn of v alone would change, as a row: i times a real number
};

// u[:, j] and v[:, j] are determined but for a common phase; where they are complex, that is moved
// out of the cotangent of u, and v is turned against u.
VectorCotangents cotangents_of(GradCall& c, const Term& u, const Term& v) {
  VectorCotangents d;
  if (flows(c, 0)) d.u = term(c.cotangents[0]);
  if (flows(c, 2)) d.v = adjoint(term(c.cotangents[2]));
  if (!is_complex_number(u) || (!flows(c, 0) && !flows(c, 2))) return d;
  Term turn;
  if (flows(c, 2)) turn = d.turned = imaginary_part(inner_products(v, d.v));
  if (flows(c, 0)) {
    const Term own = imaginary_part(inner_products(u, d.u));
    turn = turn.value ? turn + own : own;
  } else {
    d.u = {zeros(u.spec(), *u.get())};
  }
  d.u = free_of_phase(u, d.u, turn);
  return d;
}

void grad_svd(GradCall& c) {
  if (!has_vectors(c.op)) {
    const std::vector<Term> found = reduced_svd(input(c, 0));
    c.result(0) = rebuilt(found[0], cotangent(c, 0), found[2]).value;
    return;
  }
  const Dims& shape = c.node.input_spec(0).shape;
  const bool is_square = shape[shape.size() - 2] == shape.back();
  const bool is_full = c.op.get<bool>("full_matrices") && !is_square;
  if (is_full && (flows(c, 0) || flows(c, 2))) {
    fail(ErrorKind::kAutodiff, said::op(c.op.name()),
         "the full U and Vh of a matrix that is not square have no gradient, since the vectors "
         "behind the first are not determined; use full_matrices=False.");
  }
  std::vector<Term> found;
  if (is_full) {
    found = reduced_svd(input(c, 0));
  } else {
    found = {output(c, 0), output(c, 1), output(c, 2)};
  }
  const Term &u = found[0], &s = found[1], &vh = found[2];
  const Term v = adjoint(vh);
  const VectorCotangents d = cotangents_of(c, u, v);
  Term dx;
  auto add = [&](const Term& more) { dx = dx.value ? dx + more : more; };
  if (flows(c, 1)) add(rebuilt(u, cotangent(c, 1), vh));
  if (d.u.value) {
    Term inside;
    const Term outside = through_vectors(u, d.u, s, inside);
    add(product(product(u, inside * as_row(s)), vh));
    if (outside.value) add(product(outside / as_row(s), vh));
  }
  if (d.v.value) {
    Term inside;
    const Term outside = through_vectors(v, d.v, s, inside);
    add(product(product(u, as_column(s) * inside), vh));
    if (outside.value) add(product(u, adjoint(outside / as_row(s))));
  }
  if (d.turned.value) add(-product(u * (d.turned / as_row(s)), vh));
  c.result(0) = dx.value;
}

// By the Hermitian part of x, which is all that the results depend on.
void grad_eigh(GradCall& c) {
  if (!has_vectors(c.op)) {
    const Term v = results_of("eigh", input(c, 0), {true})[1];
    c.result(0) = rebuilt(v, cotangent(c, 0), adjoint(v)).value;
    return;
  }
  const Term w = output(c, 0);
  const Term v = output(c, 1);
  Term core;
  if (flows(c, 1)) {
    Term dv = cotangent(c, 1);
    if (is_complex_number(v)) dv = free_of_phase(v, dv, imaginary_part(inner_products(v, dv)));
    core = inverse_differences(w) * product(adjoint(v), dv);
  }
  if (flows(c, 0)) {
    const Term values = diagonal_matrix(cotangent(c, 0));
    core = core.value ? core + values : values;
  }
  c.result(0) = hermitian_part(product(product(v, core), adjoint(v))).value;
}

// x v = v diag(w), where the vectors have the length 1: no function of them sees its change.
void grad_eig(GradCall& c) {
  const bool is_whole = has_vectors(c.op);
  const Term v = is_whole ? output(c, 1) : results_of("eig", input(c, 0), {true})[1];
  Term core;
  if (is_whole && flows(c, 1)) {
    Term dv = cotangent(c, 1);
    const Term along = inner_products(v, dv);
    dv = free_of_phase(v, dv - v * real_part(along), imaginary_part(along));
    core = inverse_differences(conjugate(output(c, 0))) * product(adjoint(v), dv);
  }
  if (flows(c, 0)) {
    const Term values = diagonal_matrix(cotangent(c, 0));
    core = core.value ? core + values : values;
  }
  c.result(0) = product(solved(adjoint(v), core), adjoint(v)).value;
}

bool reads_matrix(const Op& op) { return !has_vectors(op); }
bool svd_reads_matrix(const Op& op) { return !has_vectors(op) || op.get<bool>("full_matrices"); }

constexpr std::pair<std::string_view, GradRule> kRules[] = {
    {"svd", {grad_svd, 1U, false, has_vectors, svd_reads_matrix}},
    {"eigh", {grad_eigh, 1U, false, has_vectors, reads_matrix}},
    {"eig", {grad_eig, 1U, false, has_vectors, reads_matrix}},
};

}  // namespace

RuleTable<GradRule> spectral_gradients() { return kRules; }

}  // namespace tensorlike
