#include "op/counts.h"

#include <algorithm>

namespace tensorlike {
namespace {

constexpr int64_t kCountPrime = (int64_t{1} << 58) - 27;  // what is below it fits the address space
constexpr int64_t kLargestExact = int64_t{1} << 53;       // as a double
constexpr int64_t kLarge = int64_t{1} << 52;

// Of which no product overflows.
__extension__ using Wide = __int128;

int64_t product_modulo(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<Wide>(a) * b % kCountPrime);
}

// By Fermat: the power of a prime less 2.
int64_t inverse_modulo(int64_t number) {
  int64_t out = 1, square = number % kCountPrime;
  for (int64_t rest = kCountPrime - 2; rest > 0; rest /= 2) {
    if (rest % 2 != 0) out = product_modulo(out, square);
    square = product_modulo(square, square);
  }
  return out;
}

// The product where it is below the prime.
std::optional<int64_t> exact_product(std::span<const int64_t> shape) {
  int64_t count = 1;
  bool is_empty = false;
  for (int64_t size : shape) {
    is_empty = is_empty || size == 0;
    if (size == 0) continue;
    if (__builtin_mul_overflow(count, size, &count) || count >= kCountPrime) return std::nullopt;
  }
  return is_empty ? 0 : count;
}

}  // namespace

int64_t product_of_counts(int64_t a, int64_t b) {
  int64_t out = 0;
  const bool is_large = __builtin_mul_overflow(a, b, &out) || out >= kCountPrime;
  return is_large ? product_modulo(a, b) : out;
}

std::optional<int64_t> count_if_small(std::span<const int64_t> shape) {
  const auto exact = exact_product(shape);
  const SizeRules* const rules = exact ? nullptr : size_rules.load(std::memory_order_relaxed);
  if (rules == nullptr || !rules->stand_for_sizes(shape)) return exact;
  int64_t count = 1;
  for (int64_t size : shape) count = product_of_counts(count, size);
  return count;
}

bool is_exact_count(std::span<const int64_t> shape) { return exact_product(shape).has_value(); }

int64_t inferred_count(std::span<const int64_t> shape) {
  const bool is_plain = shape.size() <= kMaxDims &&
                        std::all_of(shape.begin(), shape.end(), [](int64_t n) { return n >= 0; });
  const auto count = is_plain ? count_if_small(shape) : std::nullopt;
  return count ? *count : element_count(shape);  // which says what is wrong
}

Literal count_to_calculate(std::span<const int64_t> shape) {
  const auto exact = exact_product(shape);
  if (exact && *exact < kLargestExact) return *exact;
  const SizeRules* const rules = size_rules.load(std::memory_order_relaxed);
  const auto number = rules != nullptr ? rules->number_of_elements(shape) : std::nullopt;
  return number ? *number : Literal(element_count(shape));
}

std::optional<Literal> calculated_by_sizes(const std::string& how,
                                           std::span<const Literal> numbers) {
  const SizeRules* const rules = size_rules.load(std::memory_order_relaxed);
  return rules != nullptr ? rules->calculate(how, numbers) : std::nullopt;
}

bool is_large_count(int64_t count) { return count >= kLarge; }

int64_t quotient_of_counts(int64_t count, int64_t parts) {
  if (count % parts == 0 || !is_large_count(count)) return count / parts;
  return product_modulo(count, inverse_modulo(parts));
}

}  // namespace tensorlike
