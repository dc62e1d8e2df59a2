#include "program/stretch.h"

#include <algorithm>

#include "program/draws.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

constexpr const char* kWho = "program";

}  // namespace

Stretch::Stretch(Ref<Program> program, std::vector<int> given, std::vector<int> results)
    : program(std::move(program)), given(std::move(given)), results(std::move(results)) {
  this->program->take_back(this->results);
  plan();
}

// From the results back to what is given; what is met on the way is needed.
void Stretch::plan() {
  const auto& variables = program->variables();
  const auto& steps = program->steps();
  version_ = program->version();
  planned_.clear();
  constants_.clear();
  draws_ = false;
  std::vector<bool> is_given(variables.size()), is_read(variables.size());
  for (int variable : given) is_given[static_cast<size_t>(variable)] = true;
  for (int variable : results) is_read[static_cast<size_t>(variable)] = true;
  std::vector<bool> lives = is_read;
  for (size_t at = steps.size(); at-- > 0;) {
    const Program::Step& step = steps[at];
    Planned planned{at, {}, {}};
    bool is_needed = false;
    for (int output : step.outputs) {
      const size_t number = static_cast<size_t>(output);
      planned.reads.push_back(is_read[number] && !is_given[number]);
      is_needed = is_needed || planned.reads.back();
    }
    if (!is_needed) continue;
    for (int input : step.inputs) {
      const size_t number = static_cast<size_t>(input);
      if (!lives[number]) planned.dying.push_back(input);
      is_read[number] = lives[number] = true;
    }
    draws_ = draws_ || (!program->draws.empty() && Draws::is_random(*step.op));
    planned_.push_back(std::move(planned));
  }
  std::reverse(planned_.begin(), planned_.end());
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!is_read[i] || is_given[i] || variables[i].role == Program::Role::kResult) continue;
    if (variables[i].role != Program::Role::kCaptured) {
      fail(ErrorKind::kArgument, said::op(kWho), said::argument(variables[i].name),
           "must be given, since results depend on it");
    }
    constants_.push_back(static_cast<int>(i));
  }
}

std::shared_ptr<const Program::Bound> Stretch::bind(std::span<const Spec> specs) {
  const std::vector<int64_t> sizes = program->sizes_of(kWho, given, specs);
  const auto unknown = std::find(sizes.begin(), sizes.end(), kUnknownSize);
  if (unknown != sizes.end()) {
    const auto [variable, dimension] =
        program->place_of_size(static_cast<size_t>(unknown - sizes.begin()));
    fail(ErrorKind::kShape, said::op(kWho),
         said::argument(program->variables()[static_cast<size_t>(variable)].name),
         "must be given, for its size along ", dimension, " follows from nothing else");
  }
  const auto bound = program->bind(sizes);
  // Sizes that follow from others: of what is no input.
  for (size_t i = 0; i < given.size() && !bound->specs.empty(); ++i) {
    const Spec& wanted = bound->specs[static_cast<size_t>(given[i])];
    if (wanted.shape == specs[i].shape) continue;
    fail(ErrorKind::kShape, said::op(kWho),
         said::argument(program->variables()[static_cast<size_t>(given[i])].name),
         "must have the shape ", to_string(wanted.shape), said::got(to_string(specs[i].shape)));
  }
  return bound;
}

Specs Stretch::infer(std::span<const Spec> specs) {
  const auto bound = bind(specs);
  Specs found;
  for (int result : results) {
    const size_t number = static_cast<size_t>(result);
    found.push_back(bound->specs.empty() ? program->variables()[number].spec
                                         : bound->specs[number]);
  }
  return found;
}

Specs Stretch::specs_for(std::span<const int> variables, const std::vector<int64_t>& sizes) const {
  const auto bound = program->bind(sizes);
  Specs found;
  for (int variable : variables) {
    const size_t number = static_cast<size_t>(variable);
    found.push_back(bound->specs.empty() ? program->variables()[number].spec
                                         : bound->specs[number]);
  }
  return found;
}

Values Stretch::run(Args values_given) {
  if (version_ != program->version()) plan();
  program->is_recorded = false;
  SmallVector<Spec, 8> specs;
  for (Value* value : values_given) specs.push_back(spec_of(kWho, *value));
  const auto bound = bind({specs.data(), specs.size()});
  const auto& steps = program->steps();
  std::vector<Ref<Value>> values(program->variables().size());
  for (int constant : constants_) {
    values[static_cast<size_t>(constant)] =
        program->variables()[static_cast<size_t>(constant)].value;
  }
  for (size_t i = 0; i < given.size(); ++i) {
    values[static_cast<size_t>(given[i])] = Ref<Value>(values_given[i]);
  }
  SmallVector<Value*, 8> args;
  Draws draws(program->draws);
  for (const Planned& planned : planned_) {
    const Program::Step& step = steps[planned.step];
    args.clear();
    for (int input : step.inputs) args.push_back(values[static_cast<size_t>(input)].get());
    const Ref<const Op> op = draws.anew(bound->ops[planned.step]);
    Values found = apply(*op, {args.data(), args.size()});
    for (int variable : planned.dying) values[static_cast<size_t>(variable)] = nullptr;
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      if (planned.reads[i]) values[static_cast<size_t>(step.outputs[i])] = std::move(found[i]);
    }
  }
  Values out;
  for (int result : results) out.push_back(values[static_cast<size_t>(result)]);
  return out;
}

}  // namespace tensorlike
