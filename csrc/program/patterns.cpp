#include "program/patterns.h"

#include <algorithm>
#include <cmath>

#include "program/samples.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

constexpr size_t kMostVariants = 8;    // of one body
constexpr double kNearNumbers = 1e-6;  // of numbers that may be the same, before that is checked

const void* meaning_of(const Op& op) {
  if (op.scalar != nullptr) return op.scalar;
  if (op.reduction != nullptr) return op.reduction;
  return &op.cls;
}

bool is_near(double a, double b) { return std::fabs(a - b) <= kNearNumbers * std::fabs(b); }

// Whether the attribute of a pattern's step stands where this one of the op went.
bool is_sample(const Attr& sample, const Attr& found) {
  if (sample == found) return true;
  const auto* list = std::get_if<std::vector<int64_t>>(&found);
  const auto* one = std::get_if<int64_t>(&sample);
  return list != nullptr && one != nullptr && list->size() == 1 && (*list)[0] == *one;
}

class Unifier {
 public:
  Unifier(const Terms& pattern, const Op& op, const Terms& program)
      : pattern_(pattern), op_(op), program_(program) {}

  bool unify(int p, int g, Match& match) const {
    const Term& wanted = pattern_[p];
    const Term& given = program_[g];
    if (wanted.kind == Term::Kind::kLeaf) return bind(wanted.leaf, g, match);
    if (wanted.kind == Term::Kind::kNumber) {
      if (given.kind != Term::Kind::kNumber) return false;
      note_number(wanted.number, given.number, match);
      return true;
    }
    if (is_scaled_hole(wanted) && given.kind == Term::Kind::kSum) {  // which took the factor in
      auto& program = const_cast<Terms&>(program_);
      const int whole = program.product({{g, 1}}, 1 / wanted.number, given.spec);
      return bind(pattern_[wanted.parts[0].term].leaf, whole, match);
    }
    if (wanted.kind != given.kind) return false;
    if (wanted.kind != Term::Kind::kCall) return unify_parts(wanted, given, match);
    const bool is_same = meaning_of(*wanted.op) == meaning_of(*given.op) &&
                         wanted.output == given.output && wanted.parts.size() == given.parts.size();
    if (!is_same) return false;
    for (size_t i = 0; i < wanted.op->attrs.size(); ++i) {
      note_attr(wanted.op->attrs[i], given.op->attrs[i], match);
    }
    const Match before = match;
    if (unify_args(wanted, given, match, false)) return true;
    match = before;
    const bool is_free =
        wanted.op->scalar != nullptr && commutes(*wanted.op->scalar, program_.is_literal());
    return is_free && unify_args(wanted, given, match, true);
  }

 private:
  bool bind(int hole, int term, Match& match) const {
    int& known = match.holes[static_cast<size_t>(hole)];
    if (known >= 0 && known != term && !is_multiple(known, term)) return false;
    // A linear op has given its argument's factor away.
    if (known < 0 || program_[known].number == 1) known = term;
    return true;
  }

  // Whether they are products that differ by a factor.
  bool is_multiple(int a, int b) const {
    const Term& x = program_[a];
    const Term& y = program_[b];
    if (x.kind != Term::Kind::kProduct || y.kind != Term::Kind::kProduct) return false;
    return std::equal(x.parts.begin(), x.parts.end(), y.parts.begin(), y.parts.end(),
                      [](const Term::Part& p, const Term::Part& q) {
                        return p.term == q.term && p.scale == q.scale;
                      });
  }

  bool is_scaled_hole(const Term& wanted) const {
    return wanted.kind == Term::Kind::kProduct && wanted.parts.size() == 1 &&
           wanted.parts[0].scale == 1 && is_hole(wanted.parts[0].term);
  }

  bool unify_args(const Term& wanted, const Term& given, Match& match, bool is_swapped) const {
    for (size_t i = 0; i < wanted.parts.size(); ++i) {
      const size_t other = is_swapped ? wanted.parts.size() - 1 - i : i;
      if (!unify(wanted.parts[i].term, given.parts[other].term, match)) return false;
    }
    return true;
  }

  void note_attr(const Attr& wanted, const Attr& given, Match& match) const {
    if (wanted == given && !std::holds_alternative<std::vector<int64_t>>(wanted)) return;
    for (size_t i = 0; i < op_.attrs.size(); ++i) {
      if (!match.attrs[i] && is_sample(op_.attrs[i], wanted)) match.attrs[i] = given;
    }
  }

  void note_number(double wanted, double given, Match& match) const {
    for (size_t i = 0; i < op_.attrs.size(); ++i) {
      const auto* sample = std::get_if<double>(&op_.attrs[i]);
      const auto* whole = std::get_if<int64_t>(&op_.attrs[i]);
      if (match.attrs[i]) continue;
      if (sample != nullptr && is_near(wanted, *sample)) match.attrs[i] = given;
      if (sample != nullptr && is_near(wanted, -*sample)) match.attrs[i] = -given;
      const bool is_whole = whole != nullptr && wanted == static_cast<double>(*whole) &&
                            given == std::trunc(given) && std::llabs(*whole) > 1;
      if (is_whole) match.attrs[i] = static_cast<int64_t>(given);
    }
  }

  bool is_hole(int p) const { return pattern_[p].kind == Term::Kind::kLeaf; }

  // What is left of a sum or a product while parts of it are found.
  struct Rest {
    std::vector<Term::Part> parts;
    double number;
  };

  bool unify_parts(const Term& wanted, const Term& given, Match& match) const {
    if (wanted.parts.size() > given.parts.size() + 1) return false;
    std::vector<Term::Part> order = wanted.parts;
    // First what says most: it binds the holes that stand alone here.
    std::stable_sort(order.begin(), order.end(), [&](const Term::Part& a, const Term::Part& b) {
      return pattern_.weight(a.term) > pattern_.weight(b.term);
    });
    note_number(wanted.number, given.number, match);
    return place(wanted, order, 0, {given.parts, given.number}, given, match);
  }

  bool place(const Term& wanted, const std::vector<Term::Part>& order, size_t at, const Rest& rest,
             const Term& given, Match& match) const {
    if (at == order.size()) return rest.parts.empty();
    const Term::Part& part = order[at];
    if (is_hole(part.term)) {
      const int hole = pattern_[part.term].leaf;
      if (match.holes[static_cast<size_t>(hole)] >= 0) {
        return place_known(wanted, order, at, rest, given, match);
      }
      if (at + 1 == order.size()) return bind(hole, remainder(wanted, part, rest, given), match);
    }
    for (size_t i = 0; i < rest.parts.size(); ++i) {
      const bool is_sum = wanted.kind == Term::Kind::kSum;
      if (!is_sum && rest.parts[i].scale != part.scale) continue;
      if (is_sum && (rest.parts[i].scale > 0) != (part.scale > 0)) continue;
      Match tried = match;
      if (is_sum) note_number(part.scale, rest.parts[i].scale, tried);
      if (!unify(part.term, rest.parts[i].term, tried)) continue;
      Rest left = rest;
      left.parts.erase(left.parts.begin() + static_cast<std::ptrdiff_t>(i));
      if (!place(wanted, order, at + 1, left, given, tried)) continue;
      match = std::move(tried);
      return true;
    }
    return false;
  }

  // A hole whose term is known is taken out of what is left, itself or its parts.
  bool place_known(const Term& wanted, const std::vector<Term::Part>& order, size_t at, Rest rest,
                   const Term& given, Match& match) const {
    const Term::Part& part = order[at];
    int& known = match.holes[static_cast<size_t>(pattern_[part.term].leaf)];
    for (const Term::Part& one : rest.parts) {
      const bool is_whole = program_[known].number == 1 && one.term != known;
      if (is_whole && is_multiple(known, one.term)) known = one.term;
    }
    const Term& term = program_[known];
    std::vector<Term::Part> taken{{known, part.scale}};
    if (term.kind == Term::Kind::kNumber) taken.clear();
    if (term.kind == wanted.kind && !take(taken, rest.parts)) {
      taken.clear();
      for (const Term::Part& inner : term.parts) {
        taken.push_back({inner.term, inner.scale * part.scale});
      }
      if (!take(taken, rest.parts)) return false;
      return place(wanted, order, at + 1, rest, given, match);
    }
    const bool is_scaled = wanted.kind == Term::Kind::kSum && term.kind == Term::Kind::kProduct &&
                           term.parts.size() == 1 && term.parts[0].scale == 1;
    if (is_scaled) taken = {{term.parts[0].term, term.number * part.scale}};
    if (term.kind != wanted.kind && !take(taken, rest.parts)) return false;
    return place(wanted, order, at + 1, rest, given, match);
  }

  static bool take(const std::vector<Term::Part>& taken, std::vector<Term::Part>& parts) {
    std::vector<Term::Part> left = parts;
    for (const Term::Part& part : taken) {
      const auto at = std::find_if(left.begin(), left.end(), [&](const Term::Part& other) {
        return other.term == part.term && is_near(other.scale, part.scale);
      });
      if (at == left.end()) return false;
      left.erase(at);
    }
    parts = std::move(left);
    return true;
  }

  // All that is left, as one term: the last hole.
  int remainder(const Term& wanted, const Term::Part& part, const Rest& rest,
                const Term& given) const {
    auto& program = const_cast<Terms&>(program_);
    const Spec own = given.spec;
    if (wanted.kind == Term::Kind::kSum) {
      const double constant = rest.number - wanted.number;
      std::vector<Term::Part> parts = rest.parts;
      for (Term::Part& one : parts) one.scale /= part.scale;
      if (parts.size() == 1 && constant == 0) {
        return program.product({{parts[0].term, 1}}, parts[0].scale, program[parts[0].term].spec);
      }
      if (parts.empty()) return program.number(constant / part.scale, {own.dtype, {}, {}});
      return program.sum(parts, constant / part.scale, shape_of(parts, own));
    }
    double factor = rest.number / wanted.number;
    if (is_near(factor, 1)) factor = 1;
    std::vector<Term::Part> parts = rest.parts;
    for (Term::Part& one : parts) one.scale *= part.scale;
    if (parts.empty()) return program.number(factor, {own.dtype, {}, {}});
    return program.product(parts, factor, shape_of(parts, own));
  }

  Spec shape_of(const std::vector<Term::Part>& parts, Spec spec) const {
    spec.shape = {};
    for (const Term::Part& part : parts) {
      spec.shape = broadcast_shapes("optimize", spec.shape, program_[part.term].spec.shape);
    }
    return spec;
  }

  const Terms& pattern_;
  const Op& op_;
  const Terms& program_;
};

}  // namespace

const void* root_of(const Term& term) {
  static const char kSum = 0, kProduct = 0;
  if (term.kind == Term::Kind::kSum) return &kSum;
  if (term.kind == Term::Kind::kProduct) return &kProduct;
  return term.kind == Term::Kind::kCall ? meaning_of(*term.op) : nullptr;
}

std::span<const ArgSpec> Pattern::args() const {
  if (identity != nullptr) return identity->spec.from.args;
  return op->scalar != nullptr ? op->scalar->spec.args : op->cls.spec.args;
}

void Patterns::add(Pattern pattern, const Specs& args) {
  std::vector<int> leaves;
  for (size_t i = 0; i < args.size(); ++i) {
    leaves.push_back(pattern.fixed[i] ? terms_.number(*pattern.fixed[i], {args[i].dtype, {}, {}})
                                      : terms_.leaf(static_cast<int>(i), args[i]));
  }
  try {
    pattern.results =
        terms_.through_body(*pattern.op, leaves, pattern.choices, pattern.keeps_inner);
  } catch (const Error&) {
    return;
  }
  const void* root = root_of(terms_[pattern.results[0]]);
  if (root == nullptr) return;
  std::vector<size_t>& others = by_root_[root];
  for (size_t other : others) {
    const Pattern& known = patterns_[other];
    if (known.op.get() == pattern.op.get() && known.results == pattern.results) return;
  }
  others.push_back(patterns_.size());
  patterns_.push_back(std::move(pattern));
}

void Patterns::add_op(const Ref<Op>& op, const Specs& args, std::span<const ArgSpec> arg_specs,
                      const Identity* identity) {
  std::vector<std::optional<double>> free(args.size()), fixed(args.size());
  bool is_any = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const Attr& fallback = arg_specs[i].fallback;
    if (const auto* whole = std::get_if<int64_t>(&fallback)) {
      fixed[i] = static_cast<double>(*whole);
    } else if (const auto* number = std::get_if<double>(&fallback)) {
      fixed[i] = *number;
    }
    is_any = is_any || fixed[i];
  }
  std::vector<Choices> variants{{}};
  if (identity == nullptr) {
    const BodyChoices& all = body_choices(*op);
    if (!all.as_written) variants.clear();
    for (const Choices& choices : all.others) {
      if (variants.size() < kMostVariants) variants.push_back(choices);
    }
  }
  for (const Choices& choices : variants) {
    for (bool keeps_inner : {false, true}) {
      add({op, identity, choices, keeps_inner, free, {}}, args);
      if (is_any) add({op, identity, choices, keeps_inner, fixed, {}}, args);
    }
  }
}

void Patterns::add_bodies(const Registry& registry) {
  for (const Function* function : registry.functions()) {
    const Op* shared = function->shared_op.get();
    if (shared != nullptr && shared->scalar != nullptr) {
      const Scalar& scalar = *shared->scalar;
      if (!scalar.expansion || scalar.spec.derived || added_[&scalar]) continue;
      added_[&scalar] = true;
      add_op(scalar.op, sample_of(scalar).args, scalar.spec.args, nullptr);
      continue;
    }
    const OpClass& cls = *function->op_class;
    if (!cls.define || added_[&cls]) continue;
    added_[&cls] = true;
    for (const Sample& sample : samples_of(cls)) {
      add_op(sample.op, sample.args, cls.spec.args, nullptr);
    }
  }
}

void Patterns::add(const Identity& identity) {
  for (const Sample& sample : samples_of(identity.from)) {
    add_op(sample.op, sample.args, identity.spec.from.args, &identity);
  }
}

const std::vector<size_t>& Patterns::candidates(const Term& term) const {
  static const std::vector<size_t> none;
  const auto found = by_root_.find(root_of(term));
  return found == by_root_.end() ? none : found->second;
}

std::optional<Match> Patterns::match(const Pattern& pattern, const Terms& program, int term) {
  Match match{std::vector<int>(pattern.args().size(), -1),
              std::vector<std::optional<Attr>>(pattern.op->attrs.size())};
  if (!Unifier(terms_, *pattern.op, program).unify(pattern.results[0], term, match)) {
    return std::nullopt;
  }
  for (size_t i = 0; i < match.holes.size(); ++i) {
    if (match.holes[i] < 0 && !pattern.fixed[i]) return std::nullopt;
  }
  return match;
}

}  // namespace tensorlike
