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

template <class Equality>
bool are_same(const Equality& a, const Equality& b) {
  return a.from == b.from && a.to == b.to;
}

// Two sizes of inputs are equal by name alone. Where the op could be inferred if some were, the
// error that is being handled says how that is told.
template <class Equality, class Sizes, class IsRoot, class EqualFor>
void refuse_other_names(const Sizes& met, const IsRoot& is_root, const EqualFor& equal_for) {
  std::vector<Equality> pairs;
  for (size_t i = 0; i < met.size(); ++i) {
    for (size_t k = i + 1; k < met.size(); ++k) {
      const auto &a = met[i], &b = met[k];
      if (a.operand == b.operand || a.size == b.size) continue;
      if (is_root(a.size) && is_root(b.size)) pairs.push_back({b.size, a.size});
    }
  }
  const auto equal = pairs.empty() ? std::nullopt : equal_for(pairs);
  if (!equal) return;
  std::string listed;
  for (const Equality& one : *equal) {
    listed += text(listed.empty() ? "" : ", and ", one.to.first, " and ", one.from.first);
  }
  try {
    throw;
  } catch (const Error& error) {
    ErrorFields fields = error.fields();
    fields.fix = text(fields.fix, fields.fix.empty() ? "" : "; ",
                      "sizes of inputs are equal by name: give ", listed, " the same one");
    throw Error(error.kind(), std::move(fields));
  }
}

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
    if (is_real(expr)) continue;
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

// What was met first stays, and a size of an input rather than what is made of it.
Program::Equality Program::towards_root(const Witness& a, const Witness& b) const {
  return is_root(b) ? Equality{a, b} : Equality{b, a};
}

// Whether sizes are the same, or have been taken for equal, one by one.
bool Program::is_taken_for(const Witness& a, const Witness& b) const {
  std::vector<Witness> same = {a};
  for (size_t i = 0; i < same.size(); ++i) {
    if (same[i] == b) return true;
    for (const Equality& known : equal_) {
      for (const auto& [one, other] : {std::pair(known.from, known.to), {known.to, known.from}}) {
        if (!(one == same[i]) || std::find(same.begin(), same.end(), other) != same.end()) continue;
        same.push_back(other);
      }
    }
  }
  return false;
}

std::optional<std::vector<Program::Equality>> Program::equal_for(
    const Step& step, std::span<const Equality> pairs) const {
  std::vector<Equality> all;
  std::vector<Witness> met;
  for (const MetSize& one : sizes_met(step)) {
    if (std::find(met.begin(), met.end(), one.size) == met.end()) met.push_back(one.size);
  }
  // What an op divides as another one did comes out as it did there; the last one first, since
  // those before it may be what was divided.
  for (size_t i = own_.size(); i-- > 0;) {
    for (const Witness& size : met) {
      if (is_taken_for(size, own_[i].witness)) all.push_back({size, own_[i].inferred});
    }
  }
  for (size_t i = 0; i < met.size(); ++i) {
    for (size_t k = i + 1; k < met.size(); ++k) {
      if (!is_taken_for(met[i], met[k])) continue;
      all.push_back(towards_root(met[k], met[i]));
    }
  }
  for (const Equality& known : equal_) {
    const bool has_from = std::find(met.begin(), met.end(), known.from) != met.end();
    const bool has_to = std::find(met.begin(), met.end(), known.to) != met.end();
    if (has_from && !has_to) all.push_back(known);
    if (has_to && !has_from) all.push_back({known.to, known.from});
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
      const Equality found = towards_root(a.size, b.size);
      const bool share = (extent_or_all(a.size).roots & extent_or_all(b.size).roots) != 0;
      pairs.push_back({found, (share ? 0 : 2) + (a.from_end == b.from_end ? 0 : 1)});
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.order < b.order; });
  std::vector<Equality> candidates;
  for (const Pair& pair : pairs) {
    const auto is_it = [&](const Equality& one) {
      const auto& [from, to] = pair.equality;
      return are_same(one, pair.equality) || are_same(one, Equality{to, from});
    };
    if (std::none_of(candidates.begin(), candidates.end(), is_it)) {
      candidates.push_back(pair.equality);
    }
  }
  // What is divided may be divisible: n is 4 times n // 4.
  for (const OwnSize& own : own_) {
    const bool divides = own.expr.kind == AttrExpr::Kind::kArithmetic &&
                         own.expr.attr == "floor_divide" &&
                         own.expr.parts[1].kind == AttrExpr::Kind::kLiteral;
    if (!divides) continue;
    const Witness whole = witness_of(own.expr.parts[0]);
    const int64_t parts = std::get<int64_t>(own.expr.parts[1].literal);
    const auto is_met = [&](const Witness& size) {
      return std::any_of(met.begin(), met.end(),
                         [&](const MetSize& one) { return one.size == size; });
    };
    if (!is_met(whole) || !is_met(own.witness)) continue;
    candidates.push_back({whole, {parts * own.witness.first, parts * own.witness.second}});
  }
  const auto equal = equal_for(step, candidates);
  if (!equal) {
    refuse_other_names<Equality>(
        met, [&](const Witness& size) { return is_root(size); },
        [&](const auto& sizes) { return equal_for(step, sizes); });
    return false;
  }
  for (const Equality& one : *equal) {
    const auto is_it = [&](const Equality& other) { return are_same(other, one); };
    if (std::none_of(candidates.begin(), candidates.end(), is_it)) continue;
    equal_.push_back(one);
    require(
        {expression_of(one.to), expression_of(one.from), "==", true, step.place, step.op->name()});
  }
  return true;
}

}  // namespace tensorlike
