// How many elements there are where numbers may stand for sizes that are not known. Four of those
// in one shape come to more than any memory holds, and may be few in a run all the same: so what is
// too large is counted modulo a prime. Products that are equal have equal counts, others have not,
// and what was multiplied can be divided again.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/dtype.h"
#include "base/shape.h"

namespace tensorlike {

// What is known of such numbers while there are any.
struct SizeRules {
  // Whether some of these stand for sizes.
  bool (*stand_for_sizes)(std::span<const int64_t> numbers);
  // The number of elements as one to calculate with in a body, where no double holds what the
  // numbers come to; none where they stand for no sizes.
  std::optional<Literal> (*number_of_elements)(std::span<const int64_t> shape);
  // What a function makes of numbers some of which were given so; none where none were.
  std::optional<Literal> (*calculate)(const std::string& how, std::span<const Literal> numbers);
};
inline std::atomic<const SizeRules*> size_rules = nullptr;

// The product of two counts, as a count.
int64_t product_of_counts(int64_t a, int64_t b);

// The number of elements of a shape that is inferred; none where it is too large, and no size is
// unknown.
std::optional<int64_t> count_if_small(std::span<const int64_t> shape);
// Whether it is counted as it is.
bool is_exact_count(std::span<const int64_t> shape);
// The same; an error where it does not fit the address space.
int64_t inferred_count(std::span<const int64_t> shape);
// The same as a number that a body calculates with.
Literal count_to_calculate(std::span<const int64_t> shape);
// What a body makes of numbers that follow from such counts; none where none do.
std::optional<Literal> calculated_by_sizes(const std::string& how,
                                           std::span<const Literal> numbers);

// Whether a count is so large that it stands for sizes, and nobody knows what divides it.
bool is_large_count(int64_t count);
// A count by another one; what is large is taken for a multiple of it.
int64_t quotient_of_counts(int64_t count, int64_t parts);

}  // namespace tensorlike
