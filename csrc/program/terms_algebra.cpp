// Sums, products, and what moves in front of an op or behind it.
#include <algorithm>
#include <cmath>

#include "op/infer.h"
#include "op/registry.h"
#include "program/terms.h"

namespace tensorlike {
namespace {

constexpr size_t kMostParts = 12;  // of a sum or product; longer ones are not taken apart

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
  std::vector<Term::Part> flat;
  for (const Term::Part& part : parts) {
    const Term& term = (*this)[part.term];
    const bool is_sum = kind == Term::Kind::kSum;
    if (term.kind == Term::Kind::kNumber) {
      number =
          is_sum ? number + part.scale * term.number : number * std::pow(term.number, part.scale);
      continue;
    }
    const bool is_same = term.spec.dtype == spec.dtype;
    if (is_sum && is_same && term.kind == Term::Kind::kProduct && term.parts.size() == 1 &&
        term.parts[0].scale == 1) {
      flat.push_back({term.parts[0].term, part.scale * term.number});
      continue;
    }
    const bool opens = is_same && term.kind == kind && term.parts.size() <= kMostParts &&
                       (is_sum || part.scale == 1 || part.scale == -1);
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
  return intern(
      {.kind = Term::Kind::kSum, .parts = std::move(merged), .number = constant, .spec = spec});
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
                     .number = term.number * factor,
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

int Terms::reshaped(int arg, const Spec& spec) {
  const Term term = (*this)[arg];
  if (term.spec.shape == spec.shape) return arg;
  const Ref<Op> op = registry().find_function("reshape")->make_op(
      {std::vector<int64_t>(spec.shape.begin(), spec.shape.end()), Nothing()});
  const bool is_again = term.kind == Term::Kind::kCall && &term.op->cls == &op->cls;
  if (is_again) return reshaped(term.parts[0].term, spec);
  if (term.kind == Term::Kind::kProduct && term.number != 1) {
    return scaled(reshaped(product(term.parts, 1, term.spec), spec), term.number, spec);
  }
  return intern({.kind = Term::Kind::kCall, .op = op, .parts = {{arg, 1}}, .spec = spec});
}

// Axes are named one way, and kept; a reshape drops them.
int Terms::reduced(const Op& op, int arg, const Spec& spec) {
  const Term term = (*this)[arg];
  const auto ndim = static_cast<int64_t>(term.spec.shape.size());
  const Dims axes = named_axes(op, ndim);
  std::vector<int64_t> sorted(axes.begin(), axes.end());
  std::sort(sorted.begin(), sorted.end());
  Spec kept = spec;
  kept.shape = term.spec.shape;
  bool is_any = false;
  for (int64_t axis : sorted) {
    is_any = is_any || kept.shape[static_cast<size_t>(axis)] != 1;
    kept.shape[static_cast<size_t>(axis)] = 1;
  }
  const std::string& name = op.reduction->spec.name;
  const bool is_itself = name == "sum" || name == "mean" || name == "max" || name == "min";
  if (!is_any && is_itself && term.spec.dtype == spec.dtype) return reshaped(arg, spec);
  const Ref<Op> made = make_ref<Op>(op.cls);
  made->attrs = op.attrs;
  made->reduction = op.reduction;
  made->attrs[static_cast<size_t>(op.cls.attr_index("axis"))] = sorted;
  made->attrs[static_cast<size_t>(op.cls.attr_index("keepdims"))] = true;
  return reshaped(
      intern({.kind = Term::Kind::kCall, .op = made, .parts = {{arg, 1}}, .spec = kept}), spec);
}

// f(reshape(x)) is reshape(f(x)), where all arguments of an elementwise op are reshaped alike.
std::optional<int> Terms::outside_of_reshape(const Op& op, std::vector<int>& args, int output,
                                             const Spec& spec) {
  const OpClass& reshape = *registry().find_function("reshape")->op_class;
  const Dims* inner = nullptr;
  for (int arg : args) {
    const Term& term = (*this)[arg];
    if (term.kind == Term::Kind::kNumber) continue;
    const bool is_reshape = term.kind == Term::Kind::kCall && &term.op->cls == &reshape &&
                            term.spec.shape == spec.shape;
    if (!is_reshape) return std::nullopt;
    const Dims& from = (*this)[term.parts[0].term].spec.shape;
    if (inner != nullptr && !(*inner == from)) return std::nullopt;
    inner = &from;
  }
  if (inner == nullptr) return std::nullopt;
  Spec before = spec;
  before.shape = *inner;
  for (int& arg : args) {
    if ((*this)[arg].kind != Term::Kind::kNumber) arg = (*this)[arg].parts[0].term;
  }
  return reshaped(call_scalar(op, args, output, before), spec);
}

}  // namespace tensorlike
