// Gradients of singular values, eigenvalues and their vectors, and of cofactors. Those of vectors
// exist where the values are distinct.
#include "op/families.h"
#include "tape/matrix_terms.h"

namespace tensorlike {
namespace {

std::vector<Term> reduced_svd(const Term& x) { return results_of("svd", x, {false}); }

// u diag(s) vh.
Term rebuilt(const Term& u, const Term& s, const Term& vh) { return product(u * as_row(s), vh); }

void grad_svdvals(GradCall& c) {
  const std::vector<Term> found = reduced_svd(input(c, 0));
  c.result(0) = rebuilt(found[0], cotangent(c, 0), found[2]).value;
}

// What flows back through u (m, k), where the part of it that s and vh do not see is `outside`.
Term through_vectors(const Term& u, const Term& du, const Term& s, Term& inside) {
  const Term seen = product(adjoint(u), du);
  inside = inverse_differences(s * s) * (seen - adjoint(seen));
  return u.rows() > u.columns() ? du - product(u, seen) : Term{};
}

void grad_svd(GradCall& c) {
  const int64_t m = c.node.input_spec(0).shape[c.node.input_spec(0).shape.size() - 2];
  const int64_t n = c.node.input_spec(0).shape.back();
  const bool is_full = c.op.get<bool>("full_matrices");
  if (is_full && m != n && (flows(c, 0) || flows(c, 2))) {
    fail(ErrorKind::kAutodiff, c.op.name(),
         ": the full U and Vh of a matrix that is not square have no gradient, since the vectors "
         "behind the first are not determined; use full_matrices=False.");
  }
  std::vector<Term> found = {output(c, 0), output(c, 1), output(c, 2)};
  if (is_full && m != n) found = reduced_svd(input(c, 0));
  const Term &u = found[0], &s = found[1], &vh = found[2];
  const Term v = adjoint(vh);
  Term dx;
  auto add = [&](const Term& more) { dx = dx.value ? dx + more : more; };
  if (flows(c, 1)) add(rebuilt(u, cotangent(c, 1), vh));
  if (flows(c, 0)) {
    Term inside;
    const Term outside = through_vectors(u, cotangent(c, 0), s, inside);
    add(product(product(u, inside * as_row(s)), vh));
    if (outside.value) add(product(outside / as_row(s), vh));
  }
  if (flows(c, 2)) {
    Term inside;
    const Term outside = through_vectors(v, adjoint(cotangent(c, 2)), s, inside);
    add(product(product(u, as_column(s) * inside), vh));
    if (outside.value) add(product(u, adjoint(outside / as_row(s))));
  }
  c.result(0) = dx.value;
}

// Gradients by the Hermitian part of x, which is all that the results depend on.
void grad_eigvalsh(GradCall& c) {
  const Term v = results_of("eigh", input(c, 0), {})[1];
  c.result(0) = rebuilt(v, cotangent(c, 0), adjoint(v)).value;
}

void grad_eigh(GradCall& c) {
  const Term w = output(c, 0);
  const Term v = output(c, 1);
  Term core;
  if (flows(c, 1)) core = inverse_differences(w) * product(adjoint(v), cotangent(c, 1));
  if (flows(c, 0)) {
    const Term values = diagonal_matrix(cotangent(c, 0));
    core = core.value ? core + values : values;
  }
  c.result(0) = hermitian_part(product(product(v, core), adjoint(v))).value;
}

// Where x = u diag(s) vh, the second derivative of the determinant of diag(s) along g and e is the
// sum over i != j of p[i, j] (g[i, i] e[j, j] - g[i, j] e[j, i]), p the products of the values but
// two; no difference of values divides it.
void grad_cofactor(GradCall& c) {
  const std::vector<Term> found = reduced_svd(input(c, 0));
  const Term &u = found[0], &s = found[1], &vh = found[2];
  const int64_t n = s.columns();
  const Ref<RawTensor> mask = RawTensor::empty(DType::kBool, {n, n, n});
  for (int64_t i = 0; i < n * n * n; ++i) {
    mask->as<bool>()[i] = i % n == i / n % n || i % n == i / (n * n);
  }
  const Term values = as_row(as_row(s));
  const Term others = {call("where", {mask.get(), number(1, s).get(), values.get()})};
  const Term all = {call("prod", {others.get()}, {{"axis", std::vector<int64_t>{-1}}})};
  const Term p = kept(all, [](int64_t i, int64_t j) { return i != j; });
  const Term turned = product(product(adjoint(u), cotangent(c, 0)), adjoint(vh));
  const Term diagonal = reshaped(product(p, as_column(diagonal_of(turned))), s.spec().shape);
  const Term core = diagonal_matrix(diagonal) - p * transpose(turned);
  const Term sign = {call("det", {product(u, vh).get()})};
  c.result(0) = (as_matrix(sign) * product(product(u, core), vh)).value;
}

constexpr std::pair<std::string_view, GradRule> kRules[] = {
    {"svd", {grad_svd, 1U, true}},
    {"svd_vals", {grad_svdvals, 1U, false}},
    {"eigh", {grad_eigh, 0, true}},
    {"eig_vals_h", {grad_eigvalsh, 1U, false}},
    {"cofactor", {grad_cofactor, 1U, false}},
};

}  // namespace

RuleTable<GradRule> spectral_gradients() { return kRules; }

}  // namespace tensorlike
