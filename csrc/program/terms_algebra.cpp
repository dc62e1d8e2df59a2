// Sums, products, and factors that move in front of an op.
#include <algorithm>
#include <cmath>

#include "op/infer.h"
#include "op/registry.h"
#include "program/terms.h"

namespace tensorlike {
namespace {

constexpr size_t kMostParts = 12;  // of a sum or product; longer ones are not taken apart

// Whether a number that is added and taken away again rounds what stands beside it, as in
// (x + 12582912) - 12582912: it has more than half of the dtype's digits.
bool rounds(double a, double b, DType dtype) {
  const double half = dtype == DType::kFloat64    ? 0x1p26
                      : dtype == DType::kFloat32  ? 0x1p12
                      : dtype == DType::kBFloat16 ? 0x1p4
                                                  : 0x1p5;
  const double largest = std::max(std::fabs(a), std::fabs(b));
  return largest >= half && std::fabs(a + b) <= largest / 2;
}

}  // namespace

// A number beside something that has the shape already.
int Terms::bare(int id) {
  const Term term = (*this)[id];
  return term.kind == Term::Kind::kNumber ? number(term.number, {DType::kFloat64, {}, {}}) : id;
}

bool Terms::is_float(std::span<const int> args, const Spec& spec) const {
  return is_floating(spec) && std::all_of(args.begin(), args.end(), [&](int arg) {
           const Term& term = (*this)[arg];
           return term.kind == Term::Kind::kNumber || is_floating(term.spec);
         });
}

// Sums of sums and products of products are one, where they are of one dtype.
void Terms::flatten(Term::Kind kind, std::vector<Term::Part>& parts, double& number,
                    const Spec& spec) const {
  const bool is_sum = kind == Term::Kind::kSum;
  std::vector<Term::Part> flat;
  for (const Term::Part& part : parts) {
    const Term& term = (*this)[part.term];
    if (term.kind != Term::Kind::kNumber) continue;
    number =
        is_sum ? number + part.scale * term.number : number * std::pow(term.number, part.scale);
  }
  for (const Term::Part& part : parts) {
    const Term& term = (*this)[part.term];
    if (term.kind == Term::Kind::kNumber) continue;
    const bool is_same = term.spec.dtype == spec.dtype;
    if (is_sum && is_same && term.kind == Term::Kind::kProduct && term.parts.size() == 1 &&
        term.parts[0].scale == 1) {
      flat.push_back({term.parts[0].term, part.scale * term.number});
      continue;
    }
    const bool opens = is_same && term.kind == kind && term.parts.size() <= kMostParts &&
                       (is_sum ? !rounds(number, part.scale * term.number, spec.dtype)
                               : part.scale == 1 || part.scale == -1);
    if (!opens) {
      flat.push_back(part);
      continue;
    }
    number =
        is_sum ? number + part.scale * term.number : number * std::pow(term.number, part.scale);
    for (const Term::Part& inner : term.parts) {
      flat.push_back({inner.term, inner.scale * part.scale});
    }
  }
  parts = std::move(flat);
}

int Terms::sum(std::vector<Term::Part> parts, double constant, const Spec& spec) {
  flatten(Term::Kind::kSum, parts, constant, spec);
  std::sort(parts.begin(), parts.end(), [](const Term::Part& a, const Term::Part& b) {
    return a.term != b.term ? a.term < b.term : a.scale < b.scale;
  });
  std::vector<Term::Part> merged;
  for (const Term::Part& part : parts) {
    if (part.scale == 0) continue;
    const bool joins = !merged.empty() && merged.back().term == part.term &&
                       (merged.back().scale > 0) == (part.scale > 0);
    if (joins) {
      merged.back().scale += part.scale;
    } else {
      merged.push_back(part);
    }
  }
  if (merged.empty()) return number(constant, spec);
  if (merged.size() == 1 && constant == 0) {
    return product({{merged[0].term, 1}}, merged[0].scale, spec);
  }
  if (const auto found = gated(merged, constant, spec)) return *found;
  constant += 0.0;  // -0.0 is 0
  return intern(
      {.kind = Term::Kind::kSum, .parts = std::move(merged), .number = constant, .spec = spec});
}

bool Terms::contains(int id, int wanted) const {
  std::vector<bool> met(terms_.size(), false);
  std::vector<int> open{id};
  while (!open.empty()) {
    const int next = open.back();
    open.pop_back();
    if (next == wanted) return true;
    if (met[static_cast<size_t>(next)]) continue;
    met[static_cast<size_t>(next)] = true;
    for (const Term::Part& part : (*this)[next].parts) open.push_back(part.term);
  }
  return false;
}

// How many times `wanted` other parts and a number are, all of them; none: they are something else.
// What is no sum may be a product, of which the one part is.
std::optional<double> Terms::multiple_of(int wanted, std::span<const Term::Part> parts,
                                         double number) const {
  const Term& term = (*this)[wanted];
  const bool is_sum = term.kind == Term::Kind::kSum;
  const Term::Part itself{wanted, 1};
  const std::span<const Term::Part> own =
      is_sum ? std::span<const Term::Part>(term.parts) : std::span(&itself, 1);
  if (own.size() != parts.size()) return std::nullopt;
  const double factor = parts[0].scale / own[0].scale;
  const auto is_near = [](double a, double b) { return std::fabs(a - b) <= 1e-12 * std::fabs(b); };
  const bool is_one = std::equal(own.begin(), own.end(), parts.begin(),
                                 [&](const Term::Part& a, const Term::Part& b) {
                                   return a.term == b.term && is_near(a.scale * factor, b.scale);
                                 });
  return is_one && is_near((is_sum ? term.number : 0) * factor, number) ? std::optional(factor)
                                                                        : std::nullopt;
}

// x + x g(x) is x (1 + g(x)), as activations are written that let some of a number through; x is
// no smaller one, as a weight beside itself as a bias is.
std::optional<int> Terms::gated(const std::vector<Term::Part>& parts, double number,
                                const Spec& spec) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const Term whole = (*this)[parts[i].term];
    if (whole.kind != Term::Kind::kProduct || whole.spec.dtype != spec.dtype) continue;
    std::vector<Term::Part> others = parts;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    std::vector<Term::Part> gates = whole.parts;
    std::optional<double> factor;
    std::vector<Term::Part> plain;
    const bool is_product =
        others.size() == 1 && number == 0 && (*this)[others[0].term].kind == Term::Kind::kProduct;
    if (is_product) {
      plain = (*this)[others[0].term].parts;
      factor = others[0].scale * (*this)[others[0].term].number;
    }
    for (size_t k = 0; !factor && !others.empty() && k < gates.size(); ++k) {
      if (gates[k].scale != 1) continue;
      factor = multiple_of(gates[k].term, others, number);
      if (factor) plain = {gates[k]};
    }
    const auto is_taken = [&](const Term::Part& one) {
      const auto at = std::find_if(gates.begin(), gates.end(), [&](const Term::Part& each) {
        return each.term == one.term && each.scale == one.scale;
      });
      if (at == gates.end()) return false;
      gates.erase(at);
      return true;
    };
    const auto is_read = [&](const Term::Part& one) {
      return std::any_of(gates.begin(), gates.end(),
                         [&](const Term::Part& each) { return contains(each.term, one.term); });
    };
    Dims shape, gate;
    const auto add = [&](Dims& known, const Term::Part& one) {
      known = broadcast_shapes("optimize", known, (*this)[one.term].spec.shape);
    };
    for (const Term::Part& one : plain) add(shape, one);
    const bool is_gate = factor && shape == spec.shape &&
                         std::all_of(plain.begin(), plain.end(), is_taken) &&
                         std::all_of(plain.begin(), plain.end(), is_read);
    if (!is_gate) continue;
    for (const Term::Part& one : gates) add(gate, one);
    Spec own = spec;
    own.shape = gate;
    const int rest = product(std::move(gates), whole.number, own);
    plain.push_back({sum({{rest, parts[i].scale}}, *factor, own), 1});
    return product(std::move(plain), 1, spec);
  }
  return std::nullopt;
}

// Of sums none of whose numbers is 1, as 2 x + 2 y is, the first one stands in front.
void Terms::take_scales(std::vector<Term::Part>& parts, double& factor) {
  for (Term::Part& part : parts) {
    const Term term = (*this)[part.term];
    if (term.kind != Term::Kind::kSum || part.scale != 1) continue;
    bool is_plain = std::fabs(term.number) == 1;
    for (const Term::Part& one : term.parts) is_plain = is_plain || std::fabs(one.scale) == 1;
    const double first = term.number != 0 ? term.number : term.parts[0].scale;
    if (is_plain) continue;
    std::vector<Term::Part> scaled = term.parts;
    for (Term::Part& one : scaled) one.scale /= first;
    factor *= first;
    part.term = sum(std::move(scaled), term.number / first, term.spec);
  }
}

int Terms::product(std::vector<Term::Part> parts, double factor, const Spec& spec) {
  flatten(Term::Kind::kProduct, parts, factor, spec);
  if (!is_literal_ && parts.size() > 1) take_scales(parts, factor);
  if (parts.empty()) return number(factor, spec);
  if (parts.size() == 1 && parts[0].scale == 1) {
    const Term term = (*this)[parts[0].term];
    const bool is_whole = to_string(term.spec) == to_string(spec);
    if (factor == 1 && is_whole) return parts[0].term;
    if (term.kind == Term::Kind::kSum && is_whole) {
      std::vector<Term::Part> scaled = term.parts;
      for (Term::Part& part : scaled) part.scale *= factor;
      return intern({.kind = Term::Kind::kSum,
                     .parts = std::move(scaled),
                     .number = term.number * factor + 0.0,
                     .spec = spec});
    }
  }
  std::sort(parts.begin(), parts.end(), [](const Term::Part& a, const Term::Part& b) {
    return a.term != b.term ? a.term < b.term : a.scale < b.scale;
  });
  return intern(
      {.kind = Term::Kind::kProduct, .parts = std::move(parts), .number = factor, .spec = spec});
}

// base ** exponent, where that is a product: whole powers, roots and their reciprocals.
std::optional<int> Terms::power(int base, double exponent, const Spec& spec) {
  if (exponent == 1 || exponent == 2 || exponent == 3 || exponent == 4) {
    return product(std::vector<Term::Part>(static_cast<size_t>(exponent), {base, 1}), 1, spec);
  }
  if (exponent == -1) return product({{base, -1}}, 1, spec);
  if (exponent != 0.5 && exponent != -0.5) return std::nullopt;
  const Term term = (*this)[base];
  const bool is_reciprocal = term.kind == Term::Kind::kProduct && term.parts.size() == 1 &&
                             term.parts[0].scale == -1 && term.number > 0;
  if (!is_reciprocal) return product({{base, exponent}}, 1, spec);
  return product({{term.parts[0].term, -exponent}}, std::pow(term.number, exponent), spec);
}

// where(condition, x, 0) as x times the condition. Only a body is written in that way: where x is
// infinite, the product is not 0.
std::optional<int> Terms::masked(std::span<const int> args, const Spec& spec) {
  const Term other = (*this)[args[2]];
  const bool is_zero = is_floating(spec) && other.kind == Term::Kind::kNumber && other.number == 0;
  if (!is_zero || (*this)[args[1]].kind == Term::Kind::kNumber) return std::nullopt;
  const Ref<Op> cast = registry().find_function("astype")->make_op({spec.dtype});
  return product({{apply(*cast, args.subspan(0, 1))[0], 1}, {args[1], 1}}, 1, spec);
}

std::optional<int> Terms::arithmetic(const Scalar& scalar, std::span<const int> args,
                                     const Spec& spec) {
  const std::string& name = scalar.spec.name;
  if (name == "add") return sum({{args[0], 1}, {args[1], 1}}, 0, spec);
  if (name == "subtract") return sum({{args[0], 1}, {args[1], -1}}, 0, spec);
  if (name == "negative") return sum({{args[0], -1}}, 0, spec);
  if (name == "multiply") return product({{args[0], 1}, {args[1], 1}}, 1, spec);
  if (name == "divide") return product({{args[0], 1}, {args[1], -1}}, 1, spec);
  if (name == "reciprocal") return power(args[0], -1, spec);
  if (name == "sqrt") return power(args[0], 0.5, spec);
  if (name != "pow" || (*this)[args[1]].kind != Term::Kind::kNumber) return std::nullopt;
  return power(args[0], (*this)[args[1]].number, spec);
}

int Terms::scaled(int term, double factor, const Spec& spec) {
  return factor == 1 ? term : product({{term, 1}}, factor, spec);
}

// What the argument of a linear op is multiplied by stands in front of the op.
double Terms::take_factors(const Op& op, std::vector<int>& args) {
  double factor = 1;
  const auto take = [&](size_t i) {
    const Term term = (*this)[args[i]];
    if (term.kind != Term::Kind::kProduct || term.number == 1) return;
    factor *= term.number;
    args[i] = product(term.parts, 1, term.spec);
  };
  if (op.reduction != nullptr) {
    if (op.reduction->spec.linear) take(0);
    return factor;
  }
  for (const std::vector<int>& group : op.cls.spec.linear) {
    if (group.size() == 1 && static_cast<size_t>(group[0]) < args.size()) {
      take(static_cast<size_t>(group[0]));
    }
  }
  return factor;
}

}  // namespace tensorlike
