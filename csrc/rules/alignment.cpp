// The gradient of an alignment's loss: an op, and what that op is step by step in calls.
#include <algorithm>
#include <limits>

#include "op/families.h"
#include "op/infer.h"
#include "rules/matrix_terms.h"

namespace tensorlike {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

Term where(const Term& condition, const Term& x, const Term& y) {
  return {call("where", {condition.get(), x.get(), y.get()})};
}
Term exp_of(const Term& x) { return {call("exp", {x.get()})}; }
Term compared(const char* how, const Term& x, const Term& y) {
  return {call(how, {x.get(), y.get()})};
}
Term spread(const Term& x, std::vector<int64_t> shape) {
  return {call("broadcast_to", {x.get()}, {{"shape", std::move(shape)}})};
}
Term as_int64(const Term& x) { return {call("astype", {x.get()}, {{"dtype", DType::kInt64}})}; }

// The loss of each sequence and what flows back through it, for paths of one width.
class Alignment {
 public:
  Alignment(const Op& op, Args inputs)
      : x_(term(inputs[0])), lengths_(as_column(as_int64(term(inputs[2])))) {
    const Dims shape = x_.spec().shape;
    steps_ = shape[0];
    count_ = shape[1];
    const Term targets = as_column(as_int64(term(inputs[3])));
    const Term given = as_int64(term(inputs[1]));
    const int64_t longest = given.columns();
    width_ = 2 * longest + 1;
    states_ = counted(width_);
    ends_ = targets * whole(2);
    const Term blank = whole(op.get<int64_t>("blank"));
    const Term labels = where(compared("less", counted(longest), targets), given, blank);
    const Term blanks = spread(blank, {count_, longest, 1});
    path_ = joined(reshaped(joined(blanks, as_column(labels), false), {count_, 2 * longest}),
                   spread(blank, {count_, 1}), false);
    never_ = number(kNever, x_);
    hop_ = spread(never_, {count_, std::min<int64_t>(width_, 2)});
    if (width_ > 2) {
      const Term here = part(path_, false, 2, width_);
      const Term is_label = compared("not_equal", here, blank);
      const Term is_new = compared("not_equal", here, part(path_, false, 0, width_ - 2));
      const Term can = compared("logical_and", is_label, is_new);
      hop_ = joined(hop_, where(can, number(0, x_), never_), false);
    }
    places_ = spread(reshaped(path_, {1, count_, width_}), {steps_, count_, width_});
  }

  Ref<Value> gradient(const Term& cotangent) {
    go_forward();
    std::vector<Term> flows(emissions_.size());
    Term flow = last_flow(as_column(cotangent));
    const Term nothing = number(0, x_);
    for (size_t step = flows.size(); step-- > 0;) {
      const Term counts = is_within(step);
      flows[step] = where(counts, flow, nothing);
      if (step > 0) flow = where(counts, retreat(step, flow), flow);
    }
    SmallVector<Value*, 8> parts;
    for (const Term& part : flows) parts.push_back(part.get());
    const Ref<Op> stack = registry().find_function("stack")->make_op({int64_t{0}});
    const Ref<Value> values = apply(*stack, {parts.data(), parts.size()})[0];
    const Ref<Value> zero = zeros(x_.spec(), *x_.get());
    return call("put_along_axis", {zero.get(), places_.get(), values.get()},
                {{"axis", int64_t{-1}}, {"mode", std::string("add")}});
  }

 private:
  Term x_, lengths_, ends_, states_, path_, never_, hop_, places_;
  int64_t steps_ = 0, count_ = 0, width_ = 0;
  std::vector<Term> emissions_;
  std::vector<Term> reached_;  // before the first step, and after each

  // An integer.
  Term whole(int64_t value) const { return {lift_literal(value, *lengths_.get())}; }
  Term is_within(size_t step) const {
    return compared("less", whole(static_cast<int64_t>(step)), lengths_);
  }
  Term fill(double value, int64_t columns) const {
    return spread(number(value, x_), {count_, columns});
  }
  // States moved towards the end, or the beginning, by k.
  Term later(const Term& x, int64_t k) const {
    const int64_t by = std::min(k, width_);
    return joined(fill(kNever, by), part(x, false, 0, width_ - by), false);
  }
  Term earlier(const Term& x, int64_t k, double value) const {
    const int64_t by = std::min(k, width_);
    return joined(part(x, false, by, width_), fill(value, by), false);
  }

  // Where both are minus infinity the result is too, and no gradient flows: logaddexp has a
  // slope there.
  Term log_sum(const Term& x, const Term& y) const {
    const Term never =
        compared("logical_and", {call("isinf", {x.get()})}, {call("isinf", {y.get()})});
    const Term nothing = number(0, x_);
    const Term a = where(never, nothing, x);
    const Term b = where(never, nothing, y);
    return where(never, never_, {call("logaddexp", {a.get(), b.get()})});
  }

  void go_forward() {
    const Term emitted = {
        call("take_along_axis", {x_.get(), places_.get()}, {{"axis", int64_t{-1}}})};
    const std::vector<int64_t> ones(static_cast<size_t>(steps_), 1);
    for (const Term& step : results_of("split", emitted, {ones, int64_t{0}})) {
      emissions_.push_back(reshaped(step, {count_, width_}));
    }
    const Term at_start = where(compared("less", states_, whole(1)), number(0, x_), never_);
    reached_.push_back(spread(at_start, {count_, width_}));
    for (size_t step = 0; step < emissions_.size(); ++step) {
      const Term before = reached_.back();
      Term now = where(compared("less", states_, whole(2)), emissions_[0], never_);
      if (step > 0) {
        const Term near = log_sum(before, later(before, 1));
        now = log_sum(near, later(before, 2) + hop_) + emissions_[step];
      }
      reached_.push_back(where(is_within(step), now, before));
    }
  }

  // From the cotangent of the losses to the states after the last step.
  Term last_flow(const Term& cotangent) const {
    const Term is_end = compared("equal", states_, ends_);
    const Term is_label = compared("equal", states_ + whole(1), ends_);
    const Term ends = compared("logical_or", is_end, is_label);
    const Term logs = where(ends, reached_.back(), never_);
    const Term total = {
        call("logsumexp", {logs.get()}, {{"axis", std::vector<int64_t>{-1}}, {"keepdims", true}})};
    const Term known = where({call("isinf", {total.get()})}, number(0, x_), total);
    return -cotangent * exp_of(logs - known);
  }

  // From the states after a step to those before it.
  Term retreat(size_t step, const Term& flow) const {
    const Term& before = reached_[step];
    const Term& now = reached_[step + 1];
    const Term is_never = {call("isinf", {now.get()})};
    const Term gain = emissions_[step] - where(is_never, number(0, x_), now);
    return flow * exp_of(before + gain) +
           earlier(flow, 1, 0) * exp_of(before + earlier(gain, 1, kNever)) +
           earlier(flow, 2, 0) * exp_of(before + earlier(gain + hop_, 2, kNever));
  }
};

Values ctc_grad_body(const Op& op, Args inputs) {
  Specs specs;
  for (Value* x : inputs) specs.push_back(spec_of(op.name(), *x));
  const Spec wanted = infer(op, specs)[0];
  const bool has_steps = wanted.shape[0] > 0;
  Values found(1);
  found[0] =
      fit(has_steps ? Alignment(op, inputs).gradient(term(inputs[4])) : zeros(wanted, *inputs[4]),
          wanted);
  return found;
}

constexpr std::pair<std::string_view, ExpandRule> kAlignmentBodies[] = {
    {"ctc_grad", ctc_grad_body},
};

}  // namespace

RuleTable<ExpandRule> alignment_bodies() { return kAlignmentBodies; }

}  // namespace tensorlike
