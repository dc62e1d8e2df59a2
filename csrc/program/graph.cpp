#include "program/graph.h"

#include <algorithm>
#include <complex>
#include <cstring>

#include "op/registry.h"
#include "program/holder.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

template <class Variant>
bool is_same_variant(const Variant& a, const Variant& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        const T& other = *std::get_if<T>(&b);
        if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>>) {
          return std::memcmp(&value, &other, sizeof(value)) == 0;
        } else {
          return value == other;
        }
      },
      a);
}

}  // namespace

bool is_same_op(const Op& a, const Op& b) {
  if (&a.cls != &b.cls || a.attrs.size() != b.attrs.size() || a.config != b.config) return false;
  for (size_t i = 0; i < a.attrs.size(); ++i) {
    if (!is_same_variant(a.attrs[i], b.attrs[i])) return false;
  }
  const ConstOp* x = as_constant(a);
  const ConstOp* y = as_constant(b);
  if (x == nullptr || y == nullptr) return a.scalar == b.scalar && a.reduction == b.reduction;
  if (x->array || y->array) return x->array.get() == y->array.get() && x->dtype == y->dtype;
  return x->dtype == y->dtype && x->literal.has_value() == y->literal.has_value() &&
         (!x->literal || is_same_variant(*x->literal, *y->literal));
}

const ConstOp* as_constant(const Op& op) { return dynamic_cast<const ConstOp*>(&op); }

bool is_pure(const Op& op) {
  if (!op.cls.is_declared || !op.cls.spec.effects.empty()) return false;
  return !op.cls.kernel(Device()).foreign;
}

bool acts(const Op& op) {
  const Holder* holder = holder_of(op);
  if (holder == nullptr) return !op.cls.is_declared || op.cls.kernel(Device()).foreign;
  return std::any_of(holder->calls.begin(), holder->calls.end(), [](const Ref<Stretch>& call) {
    const auto& steps = call->program->steps();
    return std::any_of(steps.begin(), steps.end(),
                       [](const Program::Step& step) { return acts(*step.op); });
  });
}

Graph::Graph(const Program& source, std::span<const int> results)
    : steps_(source.steps_.begin(), source.steps_.end()), results_(results.begin(), results.end()) {
  Program& work = *work_;
  work.variables_ = source.variables_;
  work.inputs_ = source.inputs_;
  work.states_ = source.states_;
  work.assigned_ = source.assigned_;
  work.captured_ = source.captured_;
  work.parts_ = source.parts_;
  work.origin_ = source.origin_ ? source.origin_ : Ref<const Program>(&source);
  work.roots_ = source.roots_;
  work.found_ = source.found_;
  work.own_ = source.own_;
  work.reals_ = source.reals_;
  work.equal_ = source.equal_;
  work.bases_ = source.bases_;
  work.base_numbers_ = source.base_numbers_;
  work.calculated_ = source.calculated_;
  work.guards_ = source.guards_;
  work.known_ = source.known_;
  work.names_ = source.names_;
  work.draws = source.draws;
}

// Where a given variable is made by a step that makes others, too, or has a size that is no
// input's, it cannot become an input.
bool Graph::can_take(const Stretch& stretch) {
  const Program& program = *stretch.program;
  if (program.is_bound_late() || !program.assigned_.empty()) return false;
  std::vector<bool> is_given(program.variables_.size(), false);
  for (int number : stretch.given) {
    if (is_given[at(number)]) return false;
    is_given[at(number)] = true;
    const Program::Variable& variable = program.variables_[at(number)];
    if (variable.role == Program::Role::kState) return false;
    for (size_t i = 0; i < variable.spec.shape.size(); ++i) {
      const Witness size{variable.spec.shape[i], variable.other.shape[i]};
      const auto is_it = [&](const Program::Root& root) { return root.witness == size; };
      if (!size.is_known() && std::none_of(program.roots_.begin(), program.roots_.end(), is_it)) {
        return false;
      }
    }
  }
  return std::none_of(program.steps_.begin(), program.steps_.end(), [&](const auto& step) {
    const auto& outputs = step.outputs;
    return outputs.size() > 1 && std::any_of(outputs.begin(), outputs.end(),
                                             [&](int output) { return is_given[at(output)]; });
  });
}

Graph::Graph(const Stretch& stretch) : Graph(*stretch.program, stretch.results) {
  Program& work = *work_;
  std::vector<bool> is_made(variables().size(), true);
  for (int number : stretch.given) {
    Program::Variable& variable = work.variables_[at(number)];
    if (variable.role == Program::Role::kInput) continue;
    if (variable.role == Program::Role::kResult) is_made[at(number)] = false;
    if (variable.value) work.captured_.erase(variable.value.get());
    variable.role = Program::Role::kInput;
    variable.value = nullptr;
    work.inputs_.push_back(number);
  }
  std::erase_if(steps_, [&](const Program::Step& step) {
    return step.outputs.size() == 1 && !is_made[at(step.outputs[0])];
  });
}

std::vector<int> Graph::readers() const {
  std::vector<int> counts(variables().size(), 0);
  for (const Program::Step& step : steps_) {
    for (int input : step.inputs) ++counts[at(input)];
  }
  for (int result : results_) ++counts[at(result)];
  for (const auto& [state, value] : work_->assigned_) ++counts[at(value)];
  return counts;
}

std::vector<int> Graph::makers() const {
  std::vector<int> found(variables().size(), -1);
  for (size_t i = 0; i < steps_.size(); ++i) {
    for (int output : steps_[i].outputs) found[at(output)] = static_cast<int>(i);
  }
  return found;
}

void Graph::need(const AttrExpr& expr, std::vector<bool>& is_needed) const {
  if (expr.kind == AttrExpr::Kind::kDim) is_needed[at(expr.slot)] = true;
  for (const AttrExpr& part : expr.parts) need(part, is_needed);
}

void Graph::need_sizes_of(int variable, std::vector<bool>& is_needed) const {
  for (int base : work_->variables_[at(variable)].bases) {
    if (base >= 0) need(work_->bases_[at(base)].expr, is_needed);
  }
}

std::vector<bool> Graph::live_steps(std::span<const int> more) const {
  std::vector<bool> is_needed(variables().size(), false);
  for (int result : results_) is_needed[at(result)] = true;
  for (int one : more) is_needed[at(one)] = true;
  for (const auto& [state, value] : work_->assigned_) is_needed[at(value)] = true;
  for (const Program::Guard& guard : work_->guards_) {
    need(guard.a, is_needed);
    need(guard.b, is_needed);
  }
  std::vector<bool> is_live(steps_.size(), false);
  for (size_t i = steps_.size(); i-- > 0;) {
    const Program::Step& step = steps_[i];
    const bool is_read = std::any_of(step.outputs.begin(), step.outputs.end(),
                                     [&](int output) { return is_needed[at(output)]; });
    if (!is_read && !acts(*step.op)) continue;
    is_live[i] = true;
    for (int input : step.inputs) is_needed[at(input)] = true;
    for (const auto& [index, expr] : step.exprs) need(expr, is_needed);
    for (int output : step.outputs) need_sizes_of(output, is_needed);
  }
  return is_live;
}

std::vector<int> Graph::dead_results() const {
  const std::vector<bool> is_live = live_steps();
  std::vector<int> found;
  for (size_t i = 0; i < is_live.size(); ++i) {
    const std::vector<int>& outputs = steps_[i].outputs;
    if (!is_live[i]) found.insert(found.end(), outputs.begin(), outputs.end());
  }
  return found;
}

bool Graph::is_same_kind(int a, int b) const {
  const Program::Variable& x = variable(a);
  const Program::Variable& y = variable(b);
  return x.spec.dtype == y.spec.dtype && x.spec.device == y.spec.device &&
         x.spec.shape == y.spec.shape && x.other.shape == y.other.shape;
}

void Graph::replace(int from, int to) {
  for (Program::Step& step : steps_) std::replace(step.inputs.begin(), step.inputs.end(), from, to);
  std::replace(results_.begin(), results_.end(), from, to);
  for (auto& [state, value] : work_->assigned_) {
    if (value == from) value = to;
  }
}

// A literal beside what is computed is the same beside anything of that dtype: an input, say, so
// that it does not look like a reader of what it stands beside.
void Graph::free_literals() {
  for (Program::Step& step : steps_) {
    if (as_constant(*step.op) == nullptr || step.inputs.size() != 1) continue;
    const Spec& beside = variable(step.inputs[0]).spec;
    if (variable(step.inputs[0]).role != Program::Role::kResult) continue;
    for (size_t i = 0; i < variables().size(); ++i) {
      const Program::Variable& other = variables()[i];
      const bool is_given = other.role != Program::Role::kResult;
      if (!is_given || other.spec.dtype != beside.dtype) continue;
      if (!(other.spec.device == beside.device)) continue;
      step.inputs[0] = static_cast<int>(i);
      break;
    }
  }
}

std::vector<int> Graph::insert(size_t place, const Op& op, std::span<const int> inputs,
                               std::string line) {
  const std::vector<int> outputs = work_->append(op, inputs, std::move(line));
  steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(place),
                std::move(work_->steps_.back()));
  work_->steps_.pop_back();
  return outputs;
}

int Graph::capture(Ref<Value> value, const std::string& note) {
  const Spec spec = spec_of("capture", *value);
  return work_->capture(std::move(value), spec, note);
}

void Graph::remove(size_t place, size_t count) {
  const auto begin = steps_.begin() + static_cast<std::ptrdiff_t>(place);
  steps_.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
}

void Graph::keep(const std::vector<bool>& is_kept) {
  std::vector<Program::Step> kept;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (is_kept[i]) kept.push_back(std::move(steps_[i]));
  }
  steps_ = std::move(kept);
}

bool Graph::is_known(const AttrExpr& expr) const {
  if (expr.kind == AttrExpr::Kind::kDim && numbers_[at(expr.slot)] < 0) return false;
  return std::all_of(expr.parts.begin(), expr.parts.end(),
                     [&](const AttrExpr& part) { return is_known(part); });
}

AttrExpr Graph::renumbered(AttrExpr expr) const {
  if (expr.kind == AttrExpr::Kind::kDim) expr.slot = numbers_[at(expr.slot)];
  for (AttrExpr& part : expr.parts) part = renumbered(std::move(part));
  return expr;
}

std::vector<int> Graph::renumbered(const std::vector<int>& numbers) const {
  std::vector<int> found;
  for (int number : numbers) found.push_back(numbers_[at(number)]);
  return found;
}

// Inputs and states stay, whether somebody reads them or not; values from outside that nobody reads
// go. Variables follow in the order of the steps that make them, each after what it is made of.
void Graph::copy_variables(Program& out) {
  const std::vector<int> counts = readers();
  numbers_.assign(variables().size(), -1);
  const auto add = [&](int number) {
    if (numbers_[at(number)] >= 0) return;
    numbers_[at(number)] = static_cast<int>(out.variables_.size());
    out.variables_.push_back(variable(number));
  };
  const auto add_given = [&](int end) {
    for (int i = 0; i < end; ++i) {
      const Program::Role role = variable(i).role;
      if (role == Program::Role::kResult) continue;
      if (role != Program::Role::kCaptured || counts[at(i)] > 0) add(i);
    }
  };
  int reached = 0;
  for (const Program::Step& step : steps_) {
    for (int input : step.inputs) reached = std::max(reached, input + 1);
    if (!step.outputs.empty() && variable(step.outputs[0]).role == Program::Role::kResult) {
      reached = std::max(reached, std::min(step.before, step.outputs[0]));
    }
    add_given(reached);
    Program::Step made = step;
    made.before = static_cast<int>(out.variables_.size());
    for (int output : step.outputs) add(output);
    made.inputs = renumbered(step.inputs);
    made.outputs = renumbered(step.outputs);
    out.steps_.push_back(std::move(made));
  }
  add_given(static_cast<int>(variables().size()));
}

// The expressions of sizes, in terms of the variables that are left.
void Graph::number_again(Program& out) const {
  std::vector<int> bases(work_->bases_.size(), -1);
  for (size_t i = 0; i < bases.size(); ++i) {
    const Program::Base& base = work_->bases_[i];
    if (!is_known(base.expr)) continue;
    bases[i] = out.add_base({base.witness, renumbered(base.expr), base.extent});
  }
  for (Program::Variable& variable : out.variables_) {
    for (int& base : variable.bases) base = base < 0 ? base : bases[at(base)];
  }
  for (Program::Step& step : out.steps_) {
    for (auto& [index, expr] : step.exprs) expr = renumbered(std::move(expr));
  }
  for (const Program::Guard& guard : work_->guards_) {
    Program::Guard moved = guard;
    moved.a = renumbered(guard.a);
    moved.b = renumbered(guard.b);
    out.guards_.push_back(std::move(moved));
  }
  for (Program::Root root : work_->roots_) {
    root.variable = numbers_[at(root.variable)];
    out.roots_.push_back(std::move(root));
  }
  for (Program::Root root : work_->found_) {
    root.variable = numbers_[at(root.variable)];
    if (root.variable >= 0) out.found_.push_back(std::move(root));
  }
  for (Program::OwnSize own : work_->own_) {
    if (!is_known(own.expr)) continue;
    own.expr = renumbered(std::move(own.expr));
    out.own_.push_back(std::move(own));
  }
  for (Program::Real real : work_->reals_) {
    if (!is_known(real.expr)) continue;
    real.expr = renumbered(std::move(real.expr));
    out.reals_.push_back(std::move(real));
  }
  out.equal_ = work_->equal_;
}

void Graph::finish(Program& empty) {
  copy_variables(empty);
  empty.inputs_ = renumbered(work_->inputs_);
  empty.states_ = renumbered(work_->states_);
  for (const auto& [state, value] : work_->assigned_) {
    empty.assigned_[numbers_[at(state)]] = numbers_[at(value)];
  }
  for (const auto& [value, number] : work_->captured_) {
    if (numbers_[at(number)] >= 0) empty.captured_[value] = numbers_[at(number)];
  }
  empty.parts_ = work_->parts_;
  empty.origin_ = work_->origin_;
  empty.known_ = work_->known_;
  empty.names_ = work_->names_;
  empty.draws = work_->draws;
  empty.shares_memory = work_->shares_memory;
  number_again(empty);
}

std::vector<int> Graph::finished_results() const { return renumbered(results_); }

}  // namespace tensorlike
