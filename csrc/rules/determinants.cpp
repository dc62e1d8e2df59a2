// Gradients of determinants, their signs and logarithms, and of cofactors.
#include "op/families.h"
#include "rules/matrix_terms.h"

namespace tensorlike {
namespace {

void grad_det(GradCall& c) {
  const Term cofactors = {call("cofactor", {c.inputs[0]})};
  c.result(0) = (as_matrix(cotangent(c, 0)) * cofactors).value;
}

// x moves the logarithm by the real part of the trace of x^-1 dx, and turns the sign, where that is
// a complex number, by its imaginary part.
void grad_slogdet(GradCall& c) {
  const Term sign = output(c, 0);
  const bool turns = kind_of(sign.spec().dtype) == Kind::kComplex && flows(c, 0);
  if (!turns && !flows(c, 1)) return;  // a real sign has no slope
  Term flow;
  if (turns) flow = imaginary_part(conjugate(sign) * cotangent(c, 0));
  if (flows(c, 1)) flow = flow.value ? flow + cotangent(c, 1) : cotangent(c, 1);
  c.result(0) = (as_matrix(flow) * adjoint(inverted(input(c, 0)))).value;
}

// Where x = u diag(s) vh, the second derivative of the determinant of diag(s) along g and e is the
// sum over i != j of p[i, j] (g[i, i] e[j, j] - g[i, j] e[j, i]), p the products of the values but
// two; no difference of values divides it.
void grad_cofactor(GradCall& c) {
  const std::vector<Term> found = results_of("svd", input(c, 0), {false, true});
  const Term &u = found[0], &s = found[1], &vh = found[2];
  const int64_t n = s.columns();
  const Term is_same = mask_of(n, n, "equal");  // [j, k]; and as [i, 1, k]
  const Term mask = {call("logical_or", {is_same.get(), as_row(is_same).get()})};
  const Term values = as_row(as_row(s));
  const Term others = {call("where", {mask.get(), number(1, s).get(), values.get()})};
  const Term all = {call("prod", {others.get()}, {{"axis", std::vector<int64_t>{-1}}})};
  const Term p = kept(all, mask_of(n, n, "not_equal"));
  const Term turned = product(product(adjoint(u), cotangent(c, 0)), adjoint(vh));
  const Term diagonal = reshaped(product(p, as_column(diagonal_of(turned))), s.spec().shape);
  const Term core = diagonal_matrix(diagonal) - p * transpose(turned);
  const Term sign = {call("det", {product(u, vh).get()})};
  // A cofactor is a conjugated polynomial in x: what it hands back is conjugated once more.
  c.result(0) = (as_matrix(conjugate(sign)) * product(product(u, conjugate(core)), vh)).value;
}

void grad_determinant(GradCall& c) {
  const std::string& mode = c.op.get<std::string>("mode");
  if (mode == "value") return grad_det(c);
  mode == "logarithm" ? grad_slogdet(c) : grad_cofactor(c);
}

bool reads_sign(const Op& op) { return op.get<std::string>("mode") == "logarithm"; }

constexpr std::pair<std::string_view, GradRule> kRules[] = {
    {"determinant", {grad_determinant, 1U, false, reads_sign}},
};

}  // namespace

RuleTable<GradRule> determinant_gradients() { return kRules; }

}  // namespace tensorlike
