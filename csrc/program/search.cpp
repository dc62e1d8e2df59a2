#include "program/search.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tensor/body.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

constexpr int kMostRounds = 8;

// What was found as an attribute of one op, as one of another may hold it.
Attr converted(const Attr& found, const AttrSpec& spec) {
  const auto* list = std::get_if<std::vector<int64_t>>(&found);
  const bool is_list = spec.type->holds.has(Form::kInts) && !spec.type->holds.has(Form::kInt);
  if (list != nullptr && list->size() == 1 && !is_list) return (*list)[0];
  return found;
}

bool takes(Category category, DType dtype) {
  const Kind kind = kind_of(dtype);
  switch (category) {
    case Category::kBoolean:
      return kind == Kind::kBool;
    case Category::kInteger:
      return kind == Kind::kInteger;
    case Category::kIntegerOrBoolean:
      return kind <= Kind::kInteger;
    case Category::kRealFloating:
      return kind == Kind::kFloating;
    case Category::kFloating:
      return kind >= Kind::kFloating;
    case Category::kRealNumeric:
      return kind == Kind::kInteger || kind == Kind::kFloating;
    case Category::kRealOrBoolean:
      return kind != Kind::kComplex;
    case Category::kNumeric:
      return kind != Kind::kBool;
    case Category::kAll:
      break;
  }
  return true;
}

}  // namespace

Search::Search(Graph& graph, Patterns& patterns, bool is_literal, bool takes_all)
    : graph_(graph), patterns_(patterns), takes_all_(takes_all), first_(is_literal) {
  if (graph.has_unknown_sizes()) second_ = std::make_unique<Meanings>(is_literal);
}

std::vector<int> Search::terms_of_step(const Program::Step& step, Meanings& meanings) {
  std::vector<int> args, found;
  for (int input : step.inputs) args.push_back(meanings.of[at(input)]);
  const ConstOp* constant = as_constant(*step.op);
  if (constant != nullptr && constant->array) {  // which no two share
    const int output = step.outputs[0];
    return {meanings.terms.constant(*constant->array, output)};
  }
  // What stands for a number with a fraction is none to calculate with.
  const bool is_real = std::any_of(step.exprs.begin(), step.exprs.end(),
                                   [](const auto& entry) { return reads_reals(entry.second); });
  if (is_pure(*step.op) && !args.empty() && !is_real) {
    try {
      found = meanings.terms.apply(*op_for(step, meanings.specs), args);
    } catch (const Error&) {
      found.clear();
    }
  }
  if (found.size() == step.outputs.size()) return found;
  found.clear();
  for (int output : step.outputs) {
    found.push_back(meanings.terms.leaf(output, meanings.specs[at(output)]));
  }
  return found;
}

void Search::name_terms(Meanings& meanings, bool is_second) {
  meanings.of.assign(graph_.variables().size(), -1);
  for (const Program::Variable& variable : graph_.variables()) {
    const int number = static_cast<int>(meanings.specs.size());
    meanings.specs.push_back(is_second ? variable.other : variable.spec);
    if (variable.role == Program::Role::kResult) continue;
    meanings.of[at(number)] = variable.role == Program::Role::kCaptured && variable.value
                                  ? meanings.terms.constant(*variable.value, number)
                                  : meanings.terms.leaf(number, meanings.specs.back());
  }
  for (const Program::Step& step : graph_.steps()) {
    const std::vector<int> found = terms_of_step(step, meanings);
    for (size_t i = 0; i < found.size(); ++i) meanings.of[at(step.outputs[i])] = found[i];
  }
}

int Search::run() {
  graph_.free_literals();
  name_terms(first_, false);
  if (second_) name_terms(*second_, true);
  for (size_t i = 0; i < term_.size(); ++i) {
    if (term_[i] >= 0) variables_[term_[i]].push_back(static_cast<int>(i));
  }
  makers_ = graph_.makers();
  is_open_ = graph_.live_steps();
  readers_.assign(graph_.variables().size(), 0);
  for (size_t i = 0; i < is_open_.size(); ++i) {
    if (!is_open_[i]) continue;
    for (int input : graph_.steps()[i].inputs) ++readers_[at(input)];
  }
  const std::vector<int> all = graph_.readers();
  std::vector<int> from_steps(all.size(), 0);
  for (const Program::Step& step : graph_.steps()) {
    for (int input : step.inputs) ++from_steps[at(input)];
  }
  for (size_t i = 0; i < all.size(); ++i) readers_[i] += all[i] - from_steps[i];
  int changes = 0;
  for (size_t place = is_open_.size(); place-- > 0;) {
    if (!is_open_[place] || !is_root(graph_.steps()[place])) continue;
    const auto found = best_at(place, true);
    if (found && !takes_end_of_another(*found) && put(place, *found)) ++changes;
  }
  return changes;
}

// What an elementwise function saves is little, and a step that it takes, the logarithm of a sum
// times a number, say, may be the end of an op with a kernel of its own.
bool Search::takes_end_of_another(const Found& found) {
  if (found.pattern->op->scalar == nullptr || terms_.is_literal()) return false;
  return std::any_of(found.steps.begin() + 1, found.steps.end(), [&](size_t place) {
    return is_root(graph_.steps()[place]) && best_at(place, false);
  });
}

bool Search::is_root(const Program::Step& step) const {
  return is_pure(*step.op) && !step.outputs.empty() && !is_literal_step(step);
}

bool Search::is_literal_step(const Program::Step& step) const {
  return !step.outputs.empty() && terms_[term_[at(step.outputs[0])]].kind == Term::Kind::kNumber;
}

std::optional<Search::Found> Search::best_at(size_t place, bool takes_scalars) {
  const int root = term_[at(graph_.steps()[place].outputs[0])];
  std::optional<Found> best;
  const auto look = [&](int term) {
    for (size_t index : patterns_.candidates(terms_[term])) {
      const bool is_scalar = patterns_[index].op->scalar != nullptr;
      if (is_scalar && !takes_scalars) continue;
      auto found = found_at(place, patterns_[index], term);
      if (found && (!best || found->ops > best->ops)) best = std::move(found);
    }
  };
  look(root);
  // What an elementwise op gives of something reshaped stands before the reshape.
  const int inner = terms_.is_literal() ? -1 : terms_.before_reshape(root);
  if (inner >= 0 && takes_scalars) look(inner);
  return best;
}

// The variable that has a term, and is there before a step.
int Search::variable_of(int term, size_t before) const {
  const auto found = variables_.find(term);
  if (found == variables_.end()) return -1;
  for (int number : found->second) {
    const int maker = makers_[at(number)];
    const bool is_given = graph_.variable(number).role != Program::Role::kResult;
    if (is_given || (maker >= 0 && at(maker) < before)) return number;
  }
  return -1;
}

Ref<const Op> Search::op_with(const Pattern& pattern, const Match& match) const {
  const OpClass& cls = pattern.op->cls;
  if (pattern.op->scalar != nullptr) return pattern.op;
  Ref<Op> made = make_ref<Op>(cls);
  std::vector<std::pair<std::string, Attr>> named;
  for (size_t i = 0; i < cls.spec.attrs.size(); ++i) {
    const AttrSpec& spec = cls.spec.attrs[i];
    Attr value = pattern.op->attrs[i];
    const bool is_tried = spec.type->name == "bool" || !spec.choices.empty();
    if (match.attrs[i]) {
      value = converted(*match.attrs[i], spec);
    } else if (!spec.required && !is_tried && static_cast<int>(i) != pattern.neutral) {
      value = spec.fallback;
    }
    made->attrs.push_back(value);
    named.emplace_back(spec.name, std::move(value));
  }
  if (pattern.identity != nullptr) return made;
  return make_op(cls, std::move(named));
}

// The variable that has a hole's term, or has it transposed, which a product reads as well.
bool Search::take_argument(Found& found, size_t index, size_t place) const {
  const Term& term = terms_[found.holes[index]];
  found.args.push_back(variable_of(found.holes[index], place));
  found.axes.emplace_back();
  const auto* axes = Terms::transpose_of(term);
  if (found.args[index] < 0 && axes != nullptr) {
    found.args[index] = variable_of(term.parts[0].term, place);
    found.axes[index] = *axes;
  }
  if (found.args[index] < 0) return term.kind == Term::Kind::kNumber;
  return takes(found.pattern->args()[index].category, term.spec.dtype);
}

bool Search::reshape_holes(std::vector<int>& holes, const Spec& from, const Spec& to) {
  for (int& hole : holes) {
    if (hole < 0 || terms_[hole].kind == Term::Kind::kNumber) continue;
    Spec spec = terms_[hole].spec;
    if (!(spec.shape == from.shape)) return false;
    spec.shape = to.shape;
    hole = terms_.reshaped(hole, spec);
  }
  return true;
}

// `term` is the root's, or what is reshaped to be that.
std::optional<Search::Found> Search::found_at(size_t place, const Pattern& pattern, int term) {
  const Program::Step& step = graph_.steps()[place];
  const int root = term_[at(step.outputs[0])];
  auto match = patterns_.match(pattern, terms_, term);
  if (!match) return std::nullopt;
  const bool is_scalar = pattern.identity == nullptr && pattern.op->scalar != nullptr;
  if (term != root &&
      !(is_scalar && reshape_holes(match->holes, terms_[term].spec, terms_[root].spec))) {
    return std::nullopt;
  }
  Found found;
  found.pattern = &pattern;
  found.holes = match->holes;
  DType beside = graph_.variable(step.outputs[0]).spec.dtype;
  for (int hole : found.holes) {
    if (hole >= 0) beside = terms_[hole].spec.dtype;
  }
  for (size_t i = 0; i < found.holes.size(); ++i) {
    if (found.holes[i] < 0) found.holes[i] = terms_.number(*pattern.fixed[i], {beside, {}, {}});
    if (!take_argument(found, i, place)) return std::nullopt;
  }
  try {
    found.op = op_with(pattern, *match);
    const bool is_single = pattern.results.size() == 1;
    if (!is_single && !is_it(found, step)) return std::nullopt;
    measure(place, found);
    if (takes_all_ ? found.gone < 2 || found.gone != found.ops : found.gone < 1) {
      return std::nullopt;
    }
    if (is_single ? !is_it(found, step) : is_read_before(place, found)) return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
  return found;
}

// What the body means for these arguments and attributes is what the step means.
bool Search::is_it(Found& found, const Program::Step& step) {
  const std::vector<int> made = terms_.through_body(*found.op, found.holes, found.pattern->choices,
                                                    found.pattern->keeps_inner);
  for (size_t i = 1; i < made.size(); ++i) {
    const auto same = variables_.find(made[i]);
    found.others.push_back(same == variables_.end() ? -1 : same->second[0]);
  }
  if (made.empty() || made[0] != term_[at(step.outputs[0])]) return false;
  return !second_ || is_it_for_second(found, step);
}

// The same for the second witnesses, with whatever attributes and numbers were found for the first.
bool Search::is_it_for_second(const Found& found, const Program::Step& step) {
  Ref<const Op> op = found.op;
  if (op->scalar == nullptr) {
    const Ref<Op> made = make_ref<Op>(op->cls);
    for (const Attr& attr : op->attrs) made->attrs.push_back(for_second(attr));
    op = made;
  }
  std::vector<int> holes;
  for (size_t i = 0; i < found.holes.size(); ++i) {
    const Term& hole = terms_[found.holes[i]];
    if (found.args[i] >= 0) {
      const int own = second_->of[at(found.args[i])];
      const bool turns = !found.axes[i].empty();
      holes.push_back(turns ? second_->terms.transposed(own, found.axes[i]) : own);
      continue;
    }
    Spec spec = hole.spec;
    for (int64_t& size : spec.shape) size = for_second(size);
    holes.push_back(second_->terms.number(hole.number, spec));
  }
  const std::vector<int> made =
      second_->terms.through_body(*op, holes, found.pattern->choices, found.pattern->keeps_inner);
  if (made.empty() || made[0] != second_->of[at(step.outputs[0])]) return false;
  for (size_t i = 0; i < found.others.size(); ++i) {
    if (found.others[i] >= 0 && made[i + 1] != second_->of[at(found.others[i])]) return false;
  }
  return true;
}

int64_t Search::for_second(int64_t number) const {
  const auto witness = graph_.witness_of(number);
  return witness ? witness->second : number;
}

Attr Search::for_second(const Attr& attr) const {
  Attr out = attr;
  if (auto* number = std::get_if<int64_t>(&out)) *number = for_second(*number);
  if (auto* numbers = std::get_if<std::vector<int64_t>>(&out)) {
    for (int64_t& number : *numbers) number = for_second(number);
  }
  return out;
}

// Whether somebody reads a further result before the op can stand.
bool Search::is_read_before(size_t place, const Found& found) const {
  for (size_t i = 0; i < place; ++i) {
    if (std::find(found.steps.begin(), found.steps.end(), i) != found.steps.end()) continue;
    for (int input : graph_.steps()[i].inputs) {
      if (std::find(found.others.begin(), found.others.end(), input) != found.others.end()) {
        return true;
      }
    }
  }
  return false;
}

// The steps between the arguments and the result.
void Search::measure(size_t place, Found& found) const {
  std::vector<size_t> open{place};
  for (size_t i = 0; i < open.size(); ++i) {
    for (int input : graph_.steps()[open[i]].inputs) {
      const bool is_arg =
          std::find(found.args.begin(), found.args.end(), input) != found.args.end();
      const int maker = makers_[at(input)];
      if (is_arg || maker < 0) continue;
      if (std::find(open.begin(), open.end(), at(maker)) == open.end()) open.push_back(at(maker));
    }
  }
  found.steps = std::move(open);
  std::sort(found.steps.begin(), found.steps.end(), std::greater<>());
  std::unordered_map<int, int> lost;
  for (size_t one : found.steps) {
    const Program::Step& step = graph_.steps()[one];
    const bool is_op = !is_literal_step(step);
    if (is_op) ++found.ops;
    const bool is_gone =
        one == place || std::all_of(step.outputs.begin(), step.outputs.end(), [&](int output) {
          const bool is_other =
              std::find(found.others.begin(), found.others.end(), output) != found.others.end();
          return is_other || lost[output] == readers_[at(output)];
        });
    if (!is_gone) continue;
    if (is_op) ++found.gone;
    for (int input : step.inputs) ++lost[input];
  }
}

int rewrite(Graph& graph, Patterns& patterns, bool is_literal, bool takes_all) {
  const std::vector<int> dead = graph.dead_results();
  int changes = 0;
  for (int round = 0; round < kMostRounds; ++round) {
    const int made = Search(graph, patterns, is_literal, takes_all).run();
    if (made == 0) break;
    changes += made;
    graph.keep(graph.live_steps(dead));
  }
  return changes;
}

}  // namespace tensorlike
