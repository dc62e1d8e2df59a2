// States: what a program keeps between runs.
#include <algorithm>

#include "base/place.h"
#include "op/registry.h"
#include "program/program.h"

namespace tensorlike {
namespace {

// Makes an op of each start of a state, of a plain array too.
Ref<Op> copy_op() { return make_op(*registry().find_op("Copy"), {}); }

}  // namespace

int Program::add_state(std::string name, const Spec& spec) {
  states_.push_back(static_cast<int>(variables_.size()));
  return add({std::move(name), spec, spec, Role::kState});
}

void Program::assign(int state, int variable) {
  const Variable& kept = variables_[static_cast<size_t>(state)];
  const Variable& value = variables_[static_cast<size_t>(variable)];
  if (kept.role != Role::kState) {
    fail(ErrorKind::kArgument, said::op("assign"), said::argument(kept.name), "must be a state");
  }
  const bool is_same = value.spec.dtype == kept.spec.dtype && value.spec.shape == kept.spec.shape &&
                       value.other.shape == kept.spec.shape;
  if (!is_same) {
    fail(value.spec.dtype == kept.spec.dtype ? ErrorKind::kShape : ErrorKind::kDType,
         said::op("assign"), said::argument(kept.name), "must stay ", describe(state),
         said::got(describe(variable)));
  }
  take_back({&variable, 1});
  assigned_[state] = variable;
  forget_runs();
}

// The steps on which a variable depends, in their order.
std::vector<size_t> Program::slice(int variable) const {
  std::vector<bool> is_needed(variables_.size(), false);
  is_needed[static_cast<size_t>(variable)] = true;
  std::vector<size_t> found;
  for (size_t at = steps_.size(); at-- > 0;) {
    const Step& step = steps_[at];
    const auto needed = [&](int output) { return is_needed[static_cast<size_t>(output)]; };
    if (std::none_of(step.outputs.begin(), step.outputs.end(), needed)) continue;
    for (int input : step.inputs) is_needed[static_cast<size_t>(input)] = true;
    found.push_back(at);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

int Program::keep(int variable, std::string name, Program& startup) {
  const Variable& kept = variables_[static_cast<size_t>(variable)];
  if (kept.role == Role::kCaptured) return keep(kept.value, kept.spec, std::move(name), startup);
  const std::vector<size_t> made_by = slice(variable);
  std::map<int, int> copied;
  const auto copy = [&](int number) {
    const Variable& source = variables_[static_cast<size_t>(number)];
    if (source.role == Role::kInput || source.role == Role::kState) {
      fail(ErrorKind::kArgument, said::op("keep"), said::argument(name),
           "must start from values that follow from no input and no state", said::got(source.name));
    }
    if (source.role == Role::kCaptured && copied.count(number) == 0) {
      copied[number] = startup.capture(source.value, source.spec, source.note);
    }
    return copied.at(number);
  };
  for (size_t at : made_by) {
    const Step& step = steps_[at];
    std::vector<int> inputs;
    for (int input : step.inputs) inputs.push_back(copy(input));
    const std::vector<int> outputs = startup.append(*step.op, inputs, step.place);
    for (size_t i = 0; i < outputs.size(); ++i) copied[step.outputs[i]] = outputs[i];
  }
  const Spec spec = variables_[static_cast<size_t>(variable)].spec;
  const int start = copy(variable);
  startup.assign(startup.add_state(name, spec), start);
  set_aside(made_by);
  return add_state(std::move(name), spec);
}

int Program::keep(Ref<Value> value, const Spec& spec, std::string name, Program& startup) {
  startup.start(startup.add_state(name, spec), std::move(value), spec);
  return add_state(std::move(name), spec);
}

void Program::start(int state, Ref<Value> value, const Spec& spec) {
  const int captured = capture(std::move(value), spec, "RawTensor");
  assign(state, append(*copy_op(), {&captured, 1}, place_of_user())[0]);
}

// Takes away those of some steps that nobody reads, until somebody does.
void Program::set_aside(const std::vector<size_t>& steps) {
  const auto is_read = [&](int output) {
    return std::any_of(steps_.begin(), steps_.end(), [&](const Step& step) {
      return std::find(step.inputs.begin(), step.inputs.end(), output) != step.inputs.end();
    });
  };
  for (auto at = steps.rbegin(); at != steps.rend(); ++at) {
    const std::vector<int>& outputs = steps_[*at].outputs;
    if (std::any_of(outputs.begin(), outputs.end(), is_read)) continue;
    const auto step = steps_.begin() + static_cast<std::ptrdiff_t>(*at);
    aside_.push_back(std::move(*step));
    steps_.erase(step);
    ++version_;
  }
}

void Program::take_back(std::span<const int> variables) {
  for (int variable : variables) {
    const auto at = std::find_if(aside_.begin(), aside_.end(), [&](const Step& step) {
      return std::find(step.outputs.begin(), step.outputs.end(), variable) != step.outputs.end();
    });
    if (at == aside_.end()) continue;
    Step step = std::move(*at);
    aside_.erase(at);
    take_back(step.inputs);
    steps_.push_back(std::move(step));
    forget_runs();
  }
}

}  // namespace tensorlike
