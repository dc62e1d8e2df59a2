// Sizes that are equal only for some values, as n and 2 * (n // 2) are. Where an op wants sizes to
// be equal that are not known to be, the program takes them for equal, and says so by a guard: a
// run for which they are not is refused.
//
// Never taken for equal: what is apart for all sizes or but one (n and n + 1, n and n // 2), a size
// and a number, and two sizes of inputs, which are equal by name. A size that is unknown is not
// taken for 1 either, so that what broadcasts does not depend on it.
#include <algorithm>
#include <cstdlib>

#include "op/registry.h"
#include "program/program.h"
#include "program/reader.h"

namespace tensorlike {
namespace {

constexpr int64_t kNearly = 64;  // what a size may differ from one that it may be equal to: a 64th
constexpr size_t kMostPairs = 12;
constexpr size_t kMostAtOnce = 4;

}  // namespace

// A size that an op was given.
struct Program::MetSize {
  Witness size;
  int operand;   // which argument; behind those, which attribute
  int from_end;  // which dimension
};

std::vector<Program::MetSize> Program::sizes_met(const Step& step) const {
  std::vector<MetSize> out;
  const auto add = [&](const Witness& size, size_t operand, size_t place, size_t count) {
    if (size.is_known()) return;
    out.push_back({size, static_cast<int>(operand), static_cast<int>(count - place)});
  };
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const int number = step.inputs[i];
    const Variable& given = variables_[at(number)];
    for (size_t k = 0; k < given.spec.shape.size(); ++k) {
      add({given.spec.shape[k], given.other.shape[k]}, i, k, given.spec.shape.size());
    }
  }
  for (const auto& [index, expr] : step.exprs) {
    const std::span<const AttrExpr> parts = parts_of(expr);
    for (size_t k = 0; k < parts.size(); ++k) {
      add(witness_of(parts[k]), step.inputs.size() + index, k, parts.size());
    }
  }
  return out;
}

bool Program::is_root(const Witness& size) const {
  return std::any_of(roots_.begin(), roots_.end(),
                     [&](const Root& root) { return root.witness == size; });
}

bool Program::may_be_equal(const Witness& a, const Witness& b) const {
  const Witness apart{a.first - b.first, a.second - b.second};
  if (apart.is_known()) return false;
  const auto x = extent_of(a), y = extent_of(b);
  if (!x || !y) return false;
  if ((x->roots & y->roots) == 0) return !is_root(a) || !is_root(b);
  return std::llabs(x->size - y->size) * kNearly <= std::max(x->size, y->size);
}

std::optional<std::vector<Program::Equality>> Program::equal_for(
    const Step& step, std::span<const Equality> pairs) const {
  std::vector<Equality> all;
  const std::vector<MetSize> met = sizes_met(step);
  const auto is_met = [&](const Witness& size) {
    return std::any_of(met.begin(), met.end(),
                       [&](const MetSize& one) { return one.size == size; });
  };
  // What an op divides as another one did comes out as it did there; the last one first, since
  // those before it may be what was divided.
  for (size_t i = own_.size(); i-- > 0;) {
    if (is_met(own_[i].witness)) all.push_back({own_[i].witness, own_[i].inferred});
  }
  for (const Equality& known : equal_) {
    if (is_met(known.from)) all.push_back(known);
    if (is_met(known.to)) all.push_back({known.to, known.from});
  }
  all.insert(all.end(), pairs.begin(), pairs.end());
  if (all.size() > kMostPairs) all.resize(kMostPairs);
  for (size_t count = 1; count <= std::min(kMostAtOnce, all.size()); ++count) {
    for (size_t set = 1; set < size_t{1} << all.size(); ++set) {
      if (static_cast<size_t>(__builtin_popcountll(set)) != count) continue;
      std::vector<Equality> equal;
      for (size_t i = 0; i < all.size(); ++i) {
        if ((set >> i & 1) != 0) equal.push_back(all[i]);
      }
      try {
        (void)infer(step, equal);
        return equal;
      } catch (const Error&) {
        continue;
      }
    }
  }
  return std::nullopt;
}

bool Program::assume_equal(const Step& step) {
  if (origin_) return false;
  struct Pair {
    Equality equality;
    int order;
  };
  std::vector<Pair> pairs;
  const std::vector<MetSize> met = sizes_met(step);
  for (size_t i = 0; i < met.size(); ++i) {
    for (size_t k = i + 1; k < met.size(); ++k) {
      const MetSize &a = met[i], &b = met[k];
      if (a.operand == b.operand || !may_be_equal(a.size, b.size)) continue;
      // What was met first stays, and a size of an input rather than what is made of it.
      const Equality found = is_root(b.size) ? Equality{a.size, b.size} : Equality{b.size, a.size};
      const bool share = (extent_or_all(a.size).roots & extent_or_all(b.size).roots) != 0;
      pairs.push_back({found, (share ? 0 : 2) + (a.from_end == b.from_end ? 0 : 1)});
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.order < b.order; });
  std::vector<Equality> candidates;
  for (const Pair& pair : pairs) {
    const auto is_it = [&](const Equality& one) {
      return (one.from == pair.equality.from && one.to == pair.equality.to) ||
             (one.from == pair.equality.to && one.to == pair.equality.from);
    };
    if (std::none_of(candidates.begin(), candidates.end(), is_it)) {
      candidates.push_back(pair.equality);
    }
  }
  const auto equal = equal_for(step, candidates);
  if (!equal) return false;
  for (const Equality& one : *equal) {
    const auto is_it = [&](const Equality& other) {
      return other.from == one.from && other.to == one.to;
    };
    if (std::none_of(candidates.begin(), candidates.end(), is_it)) continue;
    equal_.push_back(one);
    require(
        {expression_of(one.to), expression_of(one.from), "==", true, step.place, step.op->name()});
  }
  return true;
}

bool Program::take_for_equal(int64_t a, int64_t b, const Guard& guard) {
  const auto first = witness_of(a), second = witness_of(b);
  if (!first || !second) return false;
  const auto is_it = [&](const Equality& one) {
    return (one.from == *first && one.to == *second) || (one.from == *second && one.to == *first);
  };
  if (std::any_of(equal_.begin(), equal_.end(), is_it)) return true;
  if (origin_ || !may_be_equal(*first, *second)) return false;
  equal_.push_back(is_root(*second) ? Equality{*first, *second} : Equality{*second, *first});
  require({expression_of(*first), expression_of(*second), "==", true, guard.place, guard.op});
  return true;
}

}  // namespace tensorlike
