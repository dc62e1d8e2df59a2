// Where the holes of a pattern are in a term: proposed, for whoever asks proves it.
#include <algorithm>
#include <cmath>

#include "program/patterns.h"

namespace tensorlike {
namespace {

constexpr double kNearNumbers = 1e-6;  // of numbers that may be the same, before that is checked
constexpr double kNearShort = 1e-2;    // the same of dtypes of two bytes

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
  Unifier(const Terms& terms, const Pattern& pattern, const Terms& program, Orders& orders)
      : pattern_(terms),
        op_(*pattern.op),
        neutral_(pattern.neutral),
        program_(program),
        orders_(orders) {}

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
    if (const auto* axes = Terms::transpose_of(wanted); axes != nullptr && !is_attr(*axes)) {
      return unify_transposed(*axes, wanted.parts[0].term, g, match);
    }
    if (wanted.kind != given.kind) return false;
    if (wanted.kind != Term::Kind::kCall) return unify_parts(p, given, match);
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

  // Whether they are sums that differ by a factor.
  bool is_multiple_sum(int a, int b) const {
    const Term& x = program_[a];
    const Term& y = program_[b];
    const bool are_sums = x.kind == Term::Kind::kSum && y.kind == Term::Kind::kSum;
    if (!are_sums || x.parts.size() != y.parts.size()) return false;
    const double factor = y.parts[0].scale / x.parts[0].scale;
    return is_near(y.number, x.number * factor) &&
           std::equal(x.parts.begin(), x.parts.end(), y.parts.begin(),
                      [&](const Term::Part& p, const Term::Part& q) {
                        return p.term == q.term && is_near(q.scale, p.scale * factor);
                      });
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

  bool is_attr(const std::vector<int64_t>& list) const {
    return std::any_of(op_.attrs.begin(), op_.attrs.end(),
                       [&](const Attr& attr) { return attr == Attr(list); });
  }

  // Whatever is there is the transpose of another one; of more axes, the last ones are meant.
  bool unify_transposed(const std::vector<int64_t>& axes, int inner, int g, Match& match) const {
    const size_t rank = program_[g].spec.shape.size();
    if (rank < axes.size()) return false;
    const size_t first = rank - axes.size();
    std::vector<int64_t> back(rank);
    for (size_t i = 0; i < first; ++i) back[i] = static_cast<int64_t>(i);
    for (size_t i = 0; i < axes.size(); ++i) {
      back[first + static_cast<size_t>(axes[i])] = static_cast<int64_t>(first + i);
    }
    return unify(inner, const_cast<Terms&>(program_).transposed(g, std::move(back)), match);
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
      if (match.attrs[i] || static_cast<int>(i) == neutral_) continue;
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

  bool unify_parts(int p, const Term& given, Match& match) const {
    const Term& wanted = pattern_[p];
    if (wanted.parts.size() > given.parts.size() + 1) return false;
    note_number(wanted.number, given.number, match);
    return place(wanted, order_of(p), 0, {given.parts, given.number}, given, match);
  }

  // First what says most: it binds the holes that stand alone here.
  const std::vector<Term::Part>& order_of(int p) const {
    const auto [at, is_new] = orders_.try_emplace(p, pattern_[p].parts);
    if (is_new) {
      std::stable_sort(at->second.begin(), at->second.end(),
                       [&](const Term::Part& a, const Term::Part& b) {
                         return pattern_.weight(a.term) > pattern_.weight(b.term);
                       });
    }
    return at->second;
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
      if (const auto root = root_of_rest(wanted, order, at, rest)) {
        return bind(hole, remainder(wanted, part, *root, given), match);
      }
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

  // What is left of a product where nothing but powers of one hole is to be found: each part as
  // often as the hole would have it.
  std::optional<Rest> root_of_rest(const Term& wanted, const std::vector<Term::Part>& order,
                                   size_t at, const Rest& rest) const {
    const size_t times = order.size() - at;
    if (wanted.kind != Term::Kind::kProduct) return std::nullopt;
    for (size_t i = at; i < order.size(); ++i) {
      if (order[i].term != order[at].term || order[i].scale != 1) return std::nullopt;
    }
    if (rest.parts.size() % times != 0) return std::nullopt;
    const double factor = std::pow(rest.number / wanted.number, 1 / static_cast<double>(times));
    Rest root{{}, factor * wanted.number};
    for (size_t i = 0; i < rest.parts.size(); i += times) {  // equal ones stand together
      for (size_t k = 1; k < times; ++k) {
        const Term::Part& one = rest.parts[i + k];
        if (one.term != rest.parts[i].term || one.scale != rest.parts[i].scale) {
          return std::nullopt;
        }
      }
      root.parts.push_back(rest.parts[i]);
    }
    return root;
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
    // A sum takes in the number that it is multiplied by.
    for (const Term::Part& one : rest.parts) {
      const bool is_one = wanted.kind == Term::Kind::kProduct && is_multiple_sum(known, one.term);
      if (is_one && one.scale == part.scale) taken[0].term = one.term;
    }
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
    const bool is_short = own.dtype == DType::kFloat16 || own.dtype == DType::kBFloat16;
    if (std::fabs(factor - 1) <= (is_short ? kNearShort : kNearNumbers)) factor = 1;
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
  const int neutral_;
  const Terms& program_;
  Orders& orders_;
};

}  // namespace

std::optional<Match> Patterns::match(const Pattern& pattern, const Terms& program, int term) {
  Match match{std::vector<int>(pattern.args().size(), -1),
              std::vector<std::optional<Attr>>(pattern.op->attrs.size())};
  if (!Unifier(terms_, pattern, program, orders_).unify(pattern.results[0], term, match)) {
    return std::nullopt;
  }
  for (size_t i = 0; i < match.holes.size(); ++i) {
    if (match.holes[i] < 0 && !pattern.fixed[i]) return std::nullopt;
  }
  return match;
}

}  // namespace tensorlike
