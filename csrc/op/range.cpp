// Evenly spaced numbers: how many, and whether the dtype holds them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "op/infer.h"
#include "op/op.h"

namespace tensorlike {
namespace {

double number(const Attr& attr) {
  if (const auto* value = std::get_if<int64_t>(&attr)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<bool>(&attr)) return *value ? 1.0 : 0.0;
  if (const auto* value = std::get_if<double>(&attr)) return *value;
  if (const auto* value = std::get_if<uint64_t>(&attr)) return static_cast<double>(*value);
  return NAN;  // a complex number is no place in a range
}

// Room for every integer of 64 bits, and the distances between them.
__extension__ using Integer = __int128;

Integer integer(const Attr& attr) {
  if (const auto* value = std::get_if<uint64_t>(&attr)) return *value;
  if (const auto* value = std::get_if<bool>(&attr)) return *value ? 1 : 0;
  return std::get<int64_t>(attr);
}

Integer range_length(const ArangeRange& range) {
  const Integer step = integer(range.step);
  const Integer distance = integer(range.stop) - integer(range.start);
  const Integer length = distance / step + (distance % step != 0 ? 1 : 0);
  return (distance > 0) == (step > 0) && distance != 0 ? length : 0;
}

// ErrorKind::kOverflow where an integer dtype does not hold the first number, or the last.
void check_range(const ArangeRange& range, const Literal& widest, int64_t length, DType dtype) {
  if (kind_of(dtype) != Kind::kInteger || length == 0) return;
  check_literal(literal_of(range.start), dtype);
  check_literal(literal_of(range.step), DType::kInt64);
  if (kind_of(widest) != Kind::kInteger) {
    check_literal(number(range.start) + static_cast<double>(length - 1) * number(range.step),
                  dtype);
    return;
  }
  const Integer last = integer(range.start) + (length - 1) * integer(range.step);
  const bool is_wide = last > std::numeric_limits<int64_t>::max();
  check_literal(
      is_wide ? Literal(static_cast<uint64_t>(last)) : Literal(static_cast<int64_t>(last)), dtype);
}

}  // namespace

ArangeRange arange_range(const Op& op) {
  ArangeRange range{op.attr("start"), op.attr("stop"), op.attr("step")};
  if (std::holds_alternative<Nothing>(range.stop)) {
    range.stop = range.start;
    range.start = int64_t{0};
  }
  return range;
}

Spec range_spec(const Op& op) {
  const ArangeRange range = arange_range(op);
  const double start = number(range.start);
  const double stop = number(range.stop);
  const double step = number(range.step);
  if (!(step != 0) || !std::isfinite(step) || !std::isfinite(start) || !std::isfinite(stop)) {
    fail(ErrorKind::kShape, said::op(op.name()),
         "start, stop and step must be finite, and step not 0",
         said::got("start=", start, ", stop=", stop, ", step=", step));
  }
  Literal widest = int64_t{0};
  for (const Attr* attr : {&range.start, &range.stop, &range.step}) {
    const Literal literal = literal_of(*attr);
    const bool is_wider =
        kind_of(literal) > kind_of(widest) ||
        (std::holds_alternative<uint64_t>(literal) && kind_of(widest) == Kind::kInteger);
    if (is_wider) widest = literal;
  }
  double length = std::max(0.0, std::ceil((stop - start) / step));
  if (kind_of(widest) == Kind::kInteger) {  // exactly, also where doubles are sparse
    length = static_cast<double>(range_length(range));
  }
  if (length > 1e15) {
    fail(ErrorKind::kShape, said::op(op.name()), "the range is too long: ", length, " elements.");
  }
  const auto* given = std::get_if<DType>(&op.attr("dtype"));
  const DType dtype = given != nullptr ? *given : default_dtype(widest);
  check_range(range, widest, static_cast<int64_t>(length), dtype);
  return {dtype, {static_cast<int64_t>(length)}};
}

}  // namespace tensorlike
