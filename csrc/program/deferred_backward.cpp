// The backward pass of a tape: the core's own, whose rules append to a second tape.
#include "op/registry.h"
#include "program/deferred.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike::tape {
namespace {

void check_first_gradient(const Variable& loss, const VariableHandle& given) {
  const Spec& spec = loss.desc();
  if (!given && element_count(spec.shape) != 1) {
    fail(ErrorKind::kAutodiff, said::op("Backward"), "the loss must have one element; '",
         loss.name(), "' has the shape ", to_string(spec.shape),
         "; reduce it, or pass the gradient to start from.");
  }
  if (!given && kind_of(spec.dtype) == Kind::kComplex) {
    fail(ErrorKind::kAutodiff, said::op("Backward"), "the loss must be real; '", loss.name(),
         "' is ", name_of(spec.dtype), "; take its real part, or pass the gradient to start from.");
  }
  if (given && !(given->desc().shape == spec.shape)) {
    fail(ErrorKind::kShape, said::op("Backward"), "the gradient must have the loss's shape ",
         to_string(spec.shape), said::got(to_string(given->desc().shape)));
  }
}

}  // namespace

void Tape::Backward(const VariableHandle& loss, const VariableHandle& gradient) {
  check_given("Backward", loss.get());
  if (backward_) {
    fail(ErrorKind::kAutodiff, said::op("Backward"), "a tape runs backward once",
         said::got("a second time"), said::fix("start a new one: reset_global_tape()"));
  }
  const Tracer* tracer = find_result(*loss);
  if (tracer == nullptr) {
    fail(ErrorKind::kAutodiff, said::op("Backward"),
         "the loss must follow from variables by ops of this tape that have gradients",
         said::got("'", loss->name_, "', which does not"));
  }
  check_first_gradient(*loss, gradient);
  Forward();
  backward_ = std::make_unique<Tape>();
  try {
    const CurrentTape scope(*backward_);
    Symbol& symbol = loss->symbol();
    const Ref<Value> first = gradient ? Ref<Value>(&gradient->symbol()) : lift_literal(1.0, symbol);
    Values seeds;
    seeds.push_back(fit(first, symbol.desc->spec));
    std::vector<Edge> wanted;  // none: that is all leaves
    for (const auto& [place, asked] : asked_) {
      if (asks_for_results_) wanted.push_back(asked.edge);
    }
    const Edge root = tracer->edge;
    backward(base_tape(), {&root, 1}, std::move(seeds), {.wanted = wanted},
             [&](const Edge& edge, const Ref<Value>& total) {
               const auto found = asked_.find({edge.node.get(), edge.slot});
               if (found != asked_.end()) receive(found->second, total);
             });
    run_backward();
  } catch (...) {
    backward_->abandon();
    throw;
  }
}

const Tracer* Tape::find_result(const Variable& variable) const {
  if (variable.result_of_ != number_ || variable.held_->tag != Value::kTracer) return nullptr;
  const auto* tracer = static_cast<const Tracer*>(variable.held_.get());
  return tracer->edge.node ? tracer : nullptr;
}

void Tape::ask(const VariableHandle& variable, const Tracer& tracer) {
  asked_[{tracer.edge.node.get(), tracer.edge.slot}] = {variable, tracer.edge,
                                                        variable->symbol().desc};
}

void Tape::KeepGrad(const VariableHandle& result) {
  check_given("KeepGrad", result.get());
  const Tracer* tracer = find_result(*result);
  if (tracer == nullptr) {
    fail(ErrorKind::kAutodiff, said::op("KeepGrad"),
         "the variable must be a result of this tape to which gradients flow",
         said::got("'", result->name_, "'"), said::fix("leaves have gradients without asking"));
  }
  ask(result, *tracer);
  asks_for_results_ = true;
}

// The gradient's elements follow, when the backward tape runs.
void Tape::receive(Asked& asked, Ref<Value> gradient) {
  Variable& variable = *asked.variable;
  if (variable.gradient_ && variable.gradient_of_ == number_) {
    // It was another value when it was used before.
    Value* both[] = {&variable.gradient_->symbol(), gradient.get()};
    gradient = apply_one(registry().scalar_op("add"), both);
  }
  // A rule that reads no symbol gives elements.
  if (gradient->tag == Value::kRaw) {
    gradient = make_ref<Symbol>("", Ref<RawTensor>(static_cast<RawTensor*>(gradient.get())));
  }
  const Ref<Desc> desc = static_cast<Symbol&>(*gradient).desc;
  const std::string name = variable.name_ + "_grad";
  // One gradient may be that of several variables; an op's own name for a result ends in a number.
  const bool is_ours = static_cast<Symbol&>(*gradient).tape_ == backward_.get();
  if (is_ours && !desc->name.ends_with("_grad")) backward_->rename(*desc, name);
  gradients_.emplace_back(asked.desc, desc);
  variable.gradient_ = make_ref<Variable>(name);
  variable.gradient_->held_ = std::move(gradient);
  variable.gradient_->result_of_ = backward_->number_;
  variable.gradient_of_ = number_;
  received_.push_back(asked.variable);
}

// From here on only what the backward tape reads, and what the user holds, is kept.
void Tape::run_backward() {
  for (Held& held : held_) held = {};
  leaves_.clear();
  asked_.clear();
  for (size_t i = 0; i < backward_->position_; ++i) backward_->held_[i] = {};
  backward_->releases_ = true;
  backward_->Forward();
}

}  // namespace tensorlike::tape
