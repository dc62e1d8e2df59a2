#include "program/calculate.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "op/counts.h"
#include "op/op.h"
#include "op/registry.h"
#include "program/recording.h"
#include "tensor/body.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

constexpr double kLargestWhole = 0x1p62;
constexpr int64_t kLeastCount = int64_t{1} << 57;  // that may be one by a prime (op/counts.h)

using Rounding = double (*)(double);

// Python's round is to even, as that of processors is.
Rounding rounding(std::string_view how) {
  if (how == "floor") return [](double x) { return std::floor(x); };
  if (how == "ceil") return [](double x) { return std::ceil(x); };
  if (how == "round") return [](double x) { return std::nearbyint(x); };
  if (how == "trunc") return [](double x) { return std::trunc(x); };
  return nullptr;
}

double as_double(const SizeNumber& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

[[noreturn]] void refuse_zero() {
  fail(ErrorKind::kShape, said::argument("a size"), "must not be divided by 0");
}

// The remainder has the sign of what is divided by.
double remainder_of(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double floor_divide(double a, double b) {
  const double quotient = (a - remainder_of(a, b)) / b;
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

std::optional<double> arithmetic_of(const std::string& how, double a, double b) {
  if (how == "add") return a + b;
  if (how == "multiply") return a * b;
  if (how == "minimum") return std::min(a, b);
  if (how == "maximum") return std::max(a, b);
  if (how == "pow") {
    if (a == 0 && b < 0) refuse_zero();
    return std::pow(a, b);
  }
  const bool divides = how == "divide" || how == "floor_divide" || how == "remainder";
  if (!divides) return std::nullopt;
  if (b == 0) refuse_zero();
  if (how == "divide") return a / b;
  return how == "remainder" ? remainder_of(a, b) : floor_divide(a, b);
}

// By the kernel of a scalar function.
double applied(const std::string& how, std::span<const SizeNumber> parts) {
  Values held;
  SmallVector<Value*, 2> args;
  for (const SizeNumber& part : parts) {
    held.push_back(RawTensor::scalar(DType::kFloat64, as_double(part), Device()));
    args.push_back(held.back().get());
  }
  const bool before = run_all(true);
  Values found;
  try {
    found = apply(*registry().find_function(how)->shared_op, {args.data(), args.size()});
  } catch (...) {
    run_all(before);
    throw;
  }
  run_all(before);
  auto& made = static_cast<RawTensor&>(*found[0]);
  made.ready("read");
  const double value = made.dtype == DType::kFloat64 ? *made.as<double>() : NAN;
  if (!std::isfinite(value)) {
    fail(ErrorKind::kShape, said::op(how), said::argument("a size"),
         "must be one that the function has a value for", said::got(as_double(parts[0])));
  }
  return value;
}

int64_t rounded(Rounding round, const SizeNumber& part) {
  if (const auto* whole = std::get_if<int64_t>(&part)) return *whole;
  const double value = round(std::get<double>(part));
  if (!(std::fabs(value) < kLargestWhole)) {
    fail(ErrorKind::kOverflow, said::argument("a size"), "must fit 64 bits", said::got(value));
  }
  return static_cast<int64_t>(value);
}

const Scalar* scalar_function(std::string_view how, size_t parts) {
  const Scalar* const scalar = registry().find_scalar(how);
  const bool is_it = scalar != nullptr && parts > 0 && scalar->spec.args.size() == parts &&
                     registry().find_function(how) != nullptr;
  return is_it ? scalar : nullptr;
}

}  // namespace

static bool stand_for_sizes(int64_t a, int64_t b) {
  const SizeRules* const rules = size_rules.load(std::memory_order_relaxed);
  const int64_t both[] = {a, b};
  return rules != nullptr && rules->stand_for_sizes({both, 2});
}

int64_t calculate_size(const std::string& how, int64_t a, int64_t b) {
  if (how == "minimum") return std::min(a, b);
  if (how == "maximum") return std::max(a, b);
  int64_t out = 0;
  bool is_wide = false;
  if (how == "add") {
    is_wide = __builtin_add_overflow(a, b, &out);
  } else if (how == "multiply") {
    is_wide = __builtin_mul_overflow(a, b, &out);
    const bool is_count =
        (is_wide || out >= kLeastCount) && a > 0 && b > 0 && stand_for_sizes(a, b);
    if (is_count) return product_of_counts(a, b);
  } else if (b == 0) {
    refuse_zero();
  } else {
    const int64_t rest = b == -1 ? 0 : a % b;
    const bool is_rounded = rest != 0 && (rest < 0) != (b < 0);
    if (how == "remainder") return is_rounded ? rest + b : rest;
    is_wide = b == -1 && a == INT64_MIN;
    if (!is_wide) out = a / b - (is_rounded ? 1 : 0);
  }
  if (is_wide) fail(ErrorKind::kOverflow, said::argument("a size"), "must fit 64 bits");
  return out;
}

int64_t calculate_witness(const std::string& how, int64_t a, int64_t b) {
  if (how == "multiply" && a > 0 && b > 0) return product_of_counts(a, b);
  return calculate_size(how, a, b);
}

SizeNumber calculate_number(const std::string& how, std::span<const SizeNumber> parts) {
  const auto is_whole = [](const SizeNumber& part) {
    return std::holds_alternative<int64_t>(part);
  };
  const bool are_whole = std::all_of(parts.begin(), parts.end(), is_whole);
  if (are_whole && is_size_arithmetic(how)) {
    return calculate_size(how, std::get<int64_t>(parts[0]), std::get<int64_t>(parts[1]));
  }
  if (const Rounding round = rounding(how)) return rounded(round, parts[0]);
  if (parts.size() == 2) {
    const auto found = arithmetic_of(how, as_double(parts[0]), as_double(parts[1]));
    if (found && std::isnan(*found)) {
      fail(ErrorKind::kShape, said::op(how), said::argument("a size"),
           "must be one that the function has a value for", said::got(as_double(parts[0])));
    }
    if (found) return *found;
  }
  return applied(how, parts);
}

bool is_size_arithmetic(std::string_view how) {
  return goes_by_witnesses(how) || how == "minimum" || how == "maximum";
}

bool goes_by_witnesses(std::string_view how) {
  return how == "add" || how == "multiply" || how == "floor_divide" || how == "remainder";
}

bool is_calculation(std::string_view how, size_t parts) {
  if (is_size_arithmetic(how) || how == "divide" || how == "pow") return parts == 2;
  return rounding(how) != nullptr ? parts == 1 : scalar_function(how, parts) != nullptr;
}

SizeNumber number_in(const AttrExpr& literal) {
  if (const auto* real = std::get_if<double>(&literal.literal)) return *real;
  return std::get<int64_t>(literal.literal);
}

std::string to_string(const SizeNumber& number) {
  return std::visit([](auto value) { return to_string(Attr(value)); }, number);
}

bool reads_reals(const AttrExpr& expr) {
  return is_real(expr) || std::any_of(expr.parts.begin(), expr.parts.end(), reads_reals);
}

bool is_real(const AttrExpr& expr) {
  if (expr.kind == AttrExpr::Kind::kLiteral) return std::holds_alternative<double>(expr.literal);
  if (expr.kind != AttrExpr::Kind::kArithmetic) return false;
  if (rounding(expr.attr) != nullptr) return false;
  return !is_size_arithmetic(expr.attr) ||
         std::any_of(expr.parts.begin(), expr.parts.end(), is_real);
}

}  // namespace tensorlike
