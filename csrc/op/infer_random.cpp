// Inference of random draws.
#include <cmath>

#include "op/counts.h"
#include "op/families.h"
#include "op/infer.h"

namespace tensorlike {
namespace {

using Inputs = std::span<const Spec>;

double number(const Op& op, const char* name) {
  const Attr& attr = op.attr(name);
  if (const auto* whole = std::get_if<int64_t>(&attr)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&attr);
  return real != nullptr ? *real : std::nan("");
}

void check_bounds(const Op& op) {
  const double low = number(op, "low");
  const double high = number(op, "high");
  if (low < high) return;
  fail(ErrorKind::kAttribute, said::op(op.name()), said::argument("low"), "must be less than high",
       said::got("low=", low, ", high=", high));
}

void check_integers(const Op& op) {
  const auto* low = std::get_if<int64_t>(&op.attr("low"));
  const auto* high = std::get_if<int64_t>(&op.attr("high"));
  if (low == nullptr || high == nullptr || *low >= *high) {
    fail(ErrorKind::kAttribute, said::op(op.name()),
         "low and high must be integers, low the smaller one",
         said::got("low=", to_string(op.attr("low")), ", high=", to_string(op.attr("high"))));
  }
}

bool is_of_integers(const std::string& mode) {
  return mode == "integers" || mode == "bits" || mode == "orders";
}

// Of the orders of so many numbers, which a dtype must hold.
void check_orders(const Op& op, const Dims& shape, DType dtype) {
  if (shape.empty()) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("shape"),
         "must have a dimension for mode='orders'", said::got("()"));
  }
  if (shape[shape.size() - 1] > 0) check_literal(shape[shape.size() - 1] - 1, dtype);
}

// The dtype where none is asked for, once the mode and what belongs to it are right.
DType default_of(const Op& op, const std::string& mode, DType dtype) {
  const Kind kind = kind_of(dtype);
  if (mode == "integers") {
    check_integers(op);
    if (kind == Kind::kInteger) return DType::kInt64;
  } else if (mode == "orders") {
    if (kind == Kind::kInteger) return DType::kInt64;
  } else if (mode == "bits") {
    if (kind == Kind::kInteger) return DType::kUInt64;
  } else {
    if (mode == "truncated_normal") check_bounds(op);
    if (kind == Kind::kFloating) return DType::kFloat32;
  }
  fail(ErrorKind::kDType, said::op(op.name()), said::argument("dtype"), "must be ",
       is_of_integers(mode) ? "integer" : "real floating-point", " for mode='", mode, "'",
       said::got(name_of(dtype)), said::fix("cast the result"));
}

Specs infer_random(const Op& op, Inputs) {
  const std::string& mode = op.get<std::string>("mode");
  const auto* given = std::get_if<DType>(&op.attr("dtype"));
  const DType usual = default_of(op, mode,
                                 given != nullptr       ? *given
                                 : is_of_integers(mode) ? DType::kInt64
                                                        : DType::kFloat32);
  const Dims shape{std::span<const int64_t>(op.get<std::vector<int64_t>>("shape"))};
  inferred_count(shape);
  const DType dtype = given != nullptr ? *given : usual;
  if (mode == "orders") check_orders(op, shape, dtype);
  return Specs(1, Spec{dtype, shape});
}

constexpr std::pair<std::string_view, InferRule> kRandomRules[] = {
    {"random", infer_random},
};

}  // namespace

RuleTable<InferRule> random_rules() { return kRandomRules; }

}  // namespace tensorlike
