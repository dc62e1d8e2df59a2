// Putting what a pattern stands for in the place of what was found.
#include <algorithm>
#include <cmath>

#include "program/search.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
int Search::emit_number(size_t& place, double number, const Found& found, const std::string& line) {
  for (int like : found.args) {
    if (like < 0) continue;
    const double whole = std::trunc(number);
    const bool is_whole =
        whole == number && kind_of(graph_.variable(like).spec.dtype) == Kind::kInteger;
    const Ref<ConstOp> op =
        const_op(is_whole ? Literal(static_cast<int64_t>(whole)) : Literal(number));
    return graph_.insert(place++, *op, std::vector<int>{like}, line)[0];
  }
  return -1;
}

int Search::emit_term(size_t& place, const Terms& terms, int id, const Found& found,
                      const std::string& line, std::unordered_map<int, int>& made) {
  const Term& term = terms[id];
  if (term.kind == Term::Kind::kLeaf) return term.leaf;
  if (const auto known = made.find(id); known != made.end()) return known->second;
  if (term.kind == Term::Kind::kNumber) {
    return made[id] = emit_number(place, term.number, found, line);
  }
  std::vector<int> inputs;
  for (const Term::Part& part : term.parts) {
    inputs.push_back(emit_term(place, terms, part.term, found, line, made));
  }
  return made[id] = graph_.insert(place++, *term.op, inputs, line)[at(term.output)];
}

std::vector<int> Search::emit_transposes(size_t& place, const Found& found,
                                         const std::string& line) {
  std::vector<int> args = found.args;
  for (size_t i = 0; i < args.size(); ++i) {
    if (found.axes[i].empty()) continue;
    args[i] = graph_.insert(place++, *Terms::transpose_by(found.axes[i]), {&args[i], 1}, line)[0];
  }
  return args;
}

std::vector<int> Search::emit(size_t& place, const Found& found, const std::string& line) {
  const std::vector<int> given = emit_transposes(place, found, line);
  if (found.pattern->identity == nullptr) {
    std::vector<int> inputs = given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] < 0) inputs[i] = emit_number(place, terms_[found.holes[i]].number, found, line);
    }
    return graph_.insert(place++, *found.op, inputs, line);
  }
  Terms terms(true);
  std::vector<int> args;
  for (size_t i = 0; i < found.args.size(); ++i) {
    const int number = given[i];
    args.push_back(number < 0 ? terms.number(terms_[found.holes[i]].number, {})
                              : terms.leaf(number, graph_.variable(number).spec));
  }
  const Ref<Op> op = make_ref<Op>(found.pattern->identity->to);
  op->attrs = found.op->attrs;
  std::unordered_map<int, int> made;
  const int result = terms.through_body(*op, args, {})[0];
  return {emit_term(place, terms, result, found, line, made)};
}

bool Search::put(size_t place, const Found& found) {
  const Program::Step step = graph_.steps()[place];
  const size_t before = graph_.steps().size();
  size_t end = place;
  std::vector<int> made;
  try {
    made = emit(end, found, step.place);
  } catch (const Error&) {
    made.clear();
  }
  const size_t added = graph_.steps().size() - before;
  const size_t ops = static_cast<size_t>(
      std::count_if(graph_.steps().begin() + static_cast<std::ptrdiff_t>(place),
                    graph_.steps().begin() + static_cast<std::ptrdiff_t>(place + added),
                    [](const Program::Step& one) { return as_constant(*one.op) == nullptr; }));
  const bool fits =
      !made.empty() && ops < found.gone && graph_.is_same_kind(made[0], step.outputs[0]);
  makers_.resize(graph_.variables().size(), -1);
  readers_.resize(graph_.variables().size(), 0);
  term_.resize(graph_.variables().size(), -1);
  if (!fits) {  // what was added is read by nobody
    graph_.remove(place, added);
    return false;
  }
  if (made[0] >= 0 && added > 0) graph_.rename(made[0], graph_.variable(step.outputs[0]).name);
  for (int number : found.args) {
    if (number >= 0) ++readers_[at(number)];
  }
  readers_[at(made[0])] += readers_[at(step.outputs[0])];
  graph_.replace(step.outputs[0], made[0]);
  for (size_t i = 0; i < found.others.size(); ++i) {
    const int other = found.others[i];
    if (other < 0 || !graph_.is_same_kind(other, made[i + 1])) continue;
    graph_.rename(made[i + 1], graph_.variable(other).name);
    readers_[at(made[i + 1])] += readers_[at(other)];
    graph_.replace(other, made[i + 1]);
  }
  for (size_t one : found.steps) {
    const Program::Step& gone = graph_.steps()[one < place ? one : one + added];
    const bool is_gone =
        one == place || std::all_of(gone.outputs.begin(), gone.outputs.end(),
                                    [&](int output) { return readers_[at(output)] == 0; });
    if (!is_gone) continue;
    is_open_[one] = false;
    for (int input : gone.inputs) --readers_[at(input)];
  }
  return true;
}

}  // namespace tensorlike
