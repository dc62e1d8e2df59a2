// What a number of a program may be made of: its unknown sizes, products of them, and dimensions of
// variables that are sums of such.
#include <algorithm>
#include <cstdlib>

#include "base/place.h"
#include "op/counts.h"
#include "program/program.h"
#include "program/reader.h"

namespace tensorlike {
namespace {

constexpr size_t kManySizes =
    32;                         // what they may be made of grows as a power of how many there are
constexpr int kMostSummed = 3;  // sizes, in one number
constexpr size_t kMostCounts = 64;  // of the dimensions of a variable
constexpr int64_t kMostApart = 64;  // of a sum of several sizes from a number
constexpr int64_t kLargestExtent = int64_t{1} << 50;

// How many sizes one product may have.
int highest_power(size_t sizes) {
  if (sizes <= kManySizes) return 3;
  return sizes <= kManySizes * kManySizes / 4 ? 2 : 1;
}

// The product; false: it is too large for a size.
bool multiply(int64_t a, int64_t b, int64_t& out) { return !__builtin_mul_overflow(a, b, &out); }

// What sizes come to, where it is more than all that there are come to, is one of these.
int64_t extent_made(const std::string& how, int64_t a, int64_t b) {
  int64_t out = 0;
  if (how != "multiply") return calculate_size(how, a, b);
  const bool is_large = !multiply(a, b, out) || std::llabs(out) > kLargestExtent;
  return is_large ? kLargestExtent : out;
}

Witness calculated(const std::string& how, const Witness& a, const Witness& b) {
  return {calculate_witness(how, a.first, b.first), calculate_witness(how, a.second, b.second)};
}

Witness rest_of(const Witness& a, const Witness& b, const Witness& times) {
  return {a.first - b.first * times.first, a.second - b.second * times.second};
}

[[noreturn]] void refuse_nearly_equal() {
  fail(ErrorKind::kShape, said::op("Size"), "what is left of a size by another must be a size",
       said::got("two that are nearly equal"), said::fix("give one of them a number"));
}

}  // namespace

int Program::add_base(const Base& base) {
  const auto [first, last] = base_numbers_.equal_range(base.witness.first);
  for (auto known = first; known != last; ++known) {
    if (bases_[at(known->second)].witness == base.witness) return known->second;
  }
  const int number = static_cast<int>(bases_.size());
  base_numbers_.emplace(base.witness.first, number);
  bases_.push_back(base);
  return number;
}

Program::Base Program::product_of(const Base& a, const Base& b) {
  return {calculated("multiply", a.witness, b.witness),
          arithmetic("multiply", {a.expr, b.expr}),
          {extent_made("multiply", a.extent.size, b.extent.size), a.extent.roots | b.extent.roots}};
}

void Program::add_bases(int variable) {
  Variable& added = variables_[at(variable)];
  if (added.role == Role::kInput && has_new_size_) {
    has_new_size_ = false;
    return rebuild_bases();
  }
  note_known(added.spec.shape, added.other.shape);
  if (added.role == Role::kInput) return add_large_counts(variable);
  added.bases.clear();
  for (size_t i = 0; i < added.spec.shape.size(); ++i) {
    const Witness witness{added.spec.shape[i], added.other.shape[i]};
    int base = -1;
    if (!witness.is_known()) {
      base = add_base({witness, dim_of(variable, static_cast<int>(i)), extent_or_all(witness)});
    }
    added.bases.push_back(base);
  }
  add_large_counts(variable);
  add_counts(variable);
}

// What a rule may count of dimensions next to each other, where that is taken modulo a prime: no
// multiple of what is a base without it.
void Program::add_large_counts(int variable) {
  const Variable& counted = variables_[at(variable)];
  const Dims first = counted.spec.shape, second = counted.other.shape;
  if (is_exact_count(first) && is_exact_count(second)) return;
  const auto base_of = [&](size_t index) {
    const Witness size = dimension(variable, static_cast<int>(index));
    return Base{size, expression_of(size), extent_or_all(size)};
  };
  for (size_t begin = 0; begin < first.size(); ++begin) {
    Base made = base_of(begin);
    for (size_t i = begin + 1; i < first.size(); ++i) {
      made = product_of(made, base_of(i));
      const std::span range(first.data() + begin, i + 1 - begin);
      const bool is_new = !is_exact_count(range) && !is_read(made.witness);
      if (is_new) add_base(made);
    }
  }
}

// What a rule may count of dimensions some of which are sums, n * (m + 1) say: no multiple of what
// is a base without them.
void Program::add_counts(int variable) {
  const std::vector<int>& own = variables_[at(variable)].bases;
  const int sizes = static_cast<int>(roots_.size() + found_.size() + own_.size());
  if (std::none_of(own.begin(), own.end(), [&](int base) { return base >= sizes; })) return;
  std::vector<Base> counts;  // of each choice of the unknown dimensions so far
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i] < 0) continue;
    const Base size = bases_[at(own[i])];
    const size_t known = counts.size();
    counts.push_back(size);
    for (size_t k = 0; k < known && counts.size() < kMostCounts; ++k) {
      Base made = product_of(counts[k], size);
      if (!is_read(made.witness)) add_base(made);
      counts.push_back(std::move(made));
    }
  }
}

void Program::rebuild_bases() {
  bases_.clear();
  base_numbers_.clear();
  const auto add_root = [&](const Root& root) {
    add_base({root.witness, dim_of(root.variable, root.dimension), root.extent});
  };
  for (const Root& root : roots_) add_root(root);
  for (const Root& root : found_) add_root(root);
  for (const OwnSize& own : own_) add_base({own.witness, own.expr, own.extent});
  const size_t count = bases_.size();
  for (const Base& base : calculated_) add_base(base);
  const size_t calculated_end = bases_.size();
  size_t begin = 0;
  for (int power = 2; power <= highest_power(count); ++power) {
    const size_t end = power == 2 ? count : bases_.size();
    for (size_t i = begin; i < end; ++i) {
      for (size_t r = 0; r < count; ++r) {
        const Base base = bases_[i];
        const Base root = bases_[r];
        add_base(product_of(base, root));
      }
    }
    begin = power == 2 ? calculated_end : end;
  }
  for (size_t i = 0; i < variables_.size(); ++i) {
    const Variable& known = variables_[i];
    if (known.role == Role::kInput) add_large_counts(static_cast<int>(i));
    if (known.role == Role::kResult) add_bases(static_cast<int>(i));
    note_known(known.spec.shape, known.other.shape);
  }
}

bool Program::is_read(const Witness& number) const {
  return std::any_of(bases_.begin(), bases_.end(), [&](const Base& base) {
    const auto multiple = multiple_of(number.first, base.witness.first);
    return multiple && multiple->factor * base.witness.second + multiple->rest == number.second;
  });
}

// A number is told by its first witness alone: one of more parts than `multiple_of` finds has to be
// known before it is met.
Witness Program::calculate_sizes(const std::string& how, const Witness& a, const Witness& b) {
  const Witness made = calculated(how, a, b);
  if (a.is_known() && b.is_known()) return made;
  const bool divides = how == "floor_divide" || how == "remainder";
  const auto is_told = [&](const Witness& one) { return one.is_known() || is_read(one); };
  const Witness times = divides ? calculated("floor_divide", a, b) : made;
  const Witness rest = divides ? rest_of(a, b, times) : Witness{};
  // 2 n + 1 is n times 2, and 1, whatever n is.
  const bool is_exact = is_told(times) && rest.is_known() && (b.is_known() || rest.first == 0);
  if (is_exact) return made;
  AttrExpr expr = arithmetic(how, {expression_of(a), expression_of(b)});
  const Extent x = extent_or_all(a), y = extent_or_all(b);
  const Extent extent{extent_made(how, x.size, y.size), x.roots | y.roots};
  if (!divides) {
    if (std::llabs(made.first) < kPlainNumbers) refuse_nearly_equal();
    calculated_.push_back({made, std::move(expr), extent});
    add_base(calculated_.back());
    return made;
  }
  if (made.is_known() || is_read(made)) {  // for some sizes: n // 200000 is 0
    require({std::move(expr), expression_of(made), "==", true, place_of_user()});
    return made;
  }
  const bool is_less = made.first < 0;
  const Witness size = is_less ? Witness{-made.first, -made.second} : made;
  if (is_less) expr = arithmetic("multiply", {literal(int64_t{-1}), std::move(expr)});
  const OwnSize* const known = find_own(text_of(expr));
  const Witness own = known != nullptr ? known->witness
                                       : take_own_size(size, std::move(expr),
                                                       {std::llabs(extent.size), extent.roots});
  return is_less ? Witness{-own.first, -own.second} : own;
}

Program::Extent Program::extent_or_all(const Witness& number) const {
  return extent_of(number).value_or(Extent{number.first, ~uint64_t{0}});
}

// By the first sizes that it can be said by, and as what is known of it alone.
AttrExpr Program::expression_of(const Witness& size) const {
  if (size.is_known()) return literal(size.first);
  for (const Base& base : bases_) {
    const auto multiple = multiple_of(size.first, base.witness.first);
    const bool is_it =
        multiple && multiple->factor * base.witness.second + multiple->rest == size.second;
    if (is_it) return expression(base.expr, *multiple);
  }
  const auto [first, last] = base_numbers_.equal_range(size.first);
  const auto known = std::find_if(
      first, last, [&](const auto& entry) { return bases_[at(entry.second)].witness == size; });
  return known == last ? literal(size.first) : bases_[at(known->second)].expr;
}

std::optional<Program::Extent> Program::extent_of(const Witness& number) const {
  if (number.is_known()) return Extent{number.first, 0};
  const auto [first, last] = base_numbers_.equal_range(number.first);
  for (auto known = first; known != last; ++known) {
    const Base& base = bases_[at(known->second)];
    if (base.witness == number) return base.extent;
  }
  for (int count = 1; count <= kMostSummed; ++count) {
    const int64_t rest = count == 1 ? kPlainNumbers : kMostApart;
    // Of many there are too many sums to look at.
    const size_t sizes = roots_.size() + found_.size() + own_.size();
    const size_t first = count < kMostSummed ? bases_.size() : sizes;
    if (const auto found = extent_of(number, first, count, rest)) return found;
  }
  return std::nullopt;
}

// Of a sum of so many multiples of bases, the first of which is one of the first `bases`, and of a
// number. By chance a number is one to two witnesses the more likely, the more is tried.
std::optional<Program::Extent> Program::extent_of(const Witness& number, size_t bases, int count,
                                                  int64_t most_rest) const {
  if (count == 0) {
    const bool is_rest = number.is_known() && std::llabs(number.first) < most_rest;
    return is_rest ? std::optional(Extent{number.first, 0}) : std::nullopt;
  }
  const size_t sizes = roots_.size() + found_.size() + own_.size();
  for (size_t i = 0; i < std::min(bases, bases_.size()); ++i) {
    const Base& base = bases_[i];
    if (base.witness.first == 0) continue;
    const int64_t near = number.first / base.witness.first;
    for (int64_t factor = near - 1; factor <= near + 1; ++factor) {
      int64_t second = 0, size = 0;
      if (factor == 0 || !multiply(factor, base.witness.second, second)) continue;
      if (!multiply(factor, base.extent.size, size)) continue;
      const Witness rest{number.first - factor * base.witness.first, number.second - second};
      const auto found = extent_of(rest, sizes, count - 1, most_rest);
      if (found) return Extent{size + found->size, base.extent.roots | found->roots};
    }
  }
  return std::nullopt;
}

}  // namespace tensorlike
