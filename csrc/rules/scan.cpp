// Gradients of running combinations.
#include <limits>

#include "op/families.h"
#include "op/index.h"
#include "op/infer.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

// A scan as the rules see it: without the row that `include_initial` adds.
class Scan {
 public:
  explicit Scan(GradCall& c)
      : c_(c), axis_(c.op.attr("axis")), reverse_(c.op.get<bool>("reverse")) {
    if (std::holds_alternative<Nothing>(axis_)) axis_ = int64_t{0};
  }

  const Attr& axis() const { return axis_; }
  bool is_reverse() const { return reverse_; }

  Ref<Value> backwards(const char* function, Value& x) const {
    return call(function, {&x}, {{"axis", axis_}, {"reverse", !reverse_}});
  }
  Ref<Value> sum_backwards(Value& x) const { return backwards("cumulative_sum", x); }
  Ref<Value> again(const char* function, Value& x) const {
    return call(function, {&x}, {{"axis", axis_}, {"reverse", reverse_}});
  }

  Ref<Value> trimmed(Value& value) const {
    if (!c_.op.get<bool>("include_initial")) return Ref<Value>(&value);
    const size_t ndim = c_.node.outputs()[0].shape.size();
    const size_t axis = static_cast<size_t>(
        normalize_axis(c_.op.name(), std::get<int64_t>(axis_), static_cast<int64_t>(ndim)));
    std::vector<int64_t> items;
    for (size_t i = 0; i < ndim; ++i) {
      const int64_t start = i == axis && !reverse_ ? 1 : kNoBound;
      const int64_t stop = i == axis && reverse_ ? -1 : kNoBound;
      items.insert(items.end(), {static_cast<int64_t>(ItemKind::kSlice), start, stop, kNoBound});
    }
    return call("subtensor", {&value}, {{"items", items}});
  }

 private:
  const GradCall& c_;
  Attr axis_;
  bool reverse_;
};

void grad_cumulative_sum(GradCall& c) {
  const Scan scan(c);
  c.result(0) = scan.sum_backwards(*scan.trimmed(*c.cotangents[0]));
}

// The sums of the products behind each element, without one of them: the one where `is_left_out`.
Ref<Value> sums_without(const Scan& scan, Value& x, Value& is_left_out, Value& dy) {
  const Ref<Value> one = lift_literal(int64_t{1}, x);
  const Ref<Value> others = call("where", {&is_left_out, one.get(), &x});
  const Ref<Value> products = scan.again("cumulative_prod", *others);
  return scan.sum_backwards(*call("multiply", {&dy, conjugate(*products).get()}));
}

// The product without x_i is y_j / x_i where x_i is not 0, and else the product of the others. That
// of the second zero is 0, as is its gradient, but its slope by the first one is not; from the
// third zero on both are.
void grad_cumulative_prod(GradCall& c) {
  const Scan scan(c);
  Value& x = *c.inputs[0];
  const Ref<Value> dy = scan.trimmed(*c.cotangents[0]);
  const Ref<Value> y = scan.trimmed(*c.outputs[0]);
  const Ref<Value> zero = lift_literal(int64_t{0}, x);
  const Ref<Value> is_zero = call("equal", {&x, zero.get()});
  const Ref<Value> zeros = scan.again("cumulative_sum", *is_zero);
  auto is_nth = [&](int64_t n) {
    const Ref<Value> number = lift_literal(n, *zeros);
    return call("logical_and", {is_zero.get(), call("equal", {zeros.get(), number.get()}).get()});
  };
  const Ref<Value> is_first = is_nth(1);
  const Ref<Value> is_second = is_nth(2);
  const Ref<Value> at_first = sums_without(scan, x, *is_first, *dy);
  const Ref<Value> at_second = sums_without(scan, x, *is_second, *dy);
  const Ref<Value> at_later = call("where", {is_second.get(), at_second.get(), zero.get()});
  const Ref<Value> at_zeros = call("where", {is_first.get(), at_first.get(), at_later.get()});
  const Ref<Value> one = lift_literal(int64_t{1}, x);
  const Ref<Value> divisor = call("where", {is_zero.get(), one.get(), &x});
  const Ref<Value> sums = scan.sum_backwards(*call("multiply", {dy.get(), conjugate(*y).get()}));
  const Ref<Value> elsewhere = call("divide", {sums.get(), conjugate(*divisor).get()});
  c.result(0) = call("where", {is_zero.get(), at_zeros.get(), elsewhere.get()});
}

// The largest element so far is the latest that equals it, as with PyTorch's cummax; the positions
// of such elements, carried along, tell where each cotangent goes.
void grad_cumulative_extreme(GradCall& c) {
  const Scan scan(c);
  Value& x = *c.inputs[0];
  const Spec& spec = c.node.input_spec(0);
  const Ref<Value> dy = scan.trimmed(*c.cotangents[0]);
  const Ref<Value> y = scan.trimmed(*c.outputs[0]);
  const Ref<Value> is_equal = call("equal", {&x, y.get()});
  const Ref<Value> is_nan = call("not_equal", {&x, &x});
  const Ref<Value> is_found = call("logical_or", {is_equal.get(), is_nan.get()});
  const Ref<Value> is_any = call("equal", {is_found.get(), is_found.get()});
  const Ref<Value> ordinals = call("cumulative_sum", {is_any.get()}, {{"axis", scan.axis()}});
  const Ref<Value> positions =
      call("subtract", {ordinals.get(), lift_literal(int64_t{1}, *ordinals).get()});
  const int64_t ndim = static_cast<int64_t>(spec.shape.size());
  const size_t axis =
      static_cast<size_t>(normalize_axis(c.op.name(), std::get<int64_t>(scan.axis()), ndim));
  const int64_t first = scan.is_reverse() ? spec.shape[axis] - 1 : 0;
  const Ref<Value> own =
      call("where", {is_found.get(), positions.get(), lift_literal(first, *positions).get()});
  const Ref<Value> places =
      scan.again(scan.is_reverse() ? "cumulative_min" : "cumulative_max", *own);
  c.result(0) = call("put_along_axis", {zeros(spec, *dy).get(), places.get(), dy.get()},
                     {{"axis", scan.axis()}, {"mode", std::string("add")}});
}

// Element i is the share exp(x_i - y_j) of the sum up to j. What flows back is added up in
// logarithms, which neither overflow nor vanish; positive and negative cotangents apart.
Ref<Value> shares_of_positive(const Scan& scan, Value& x, Value& y, Value& dy) {
  const Ref<Value> zero = lift_literal(0.0, dy);
  const Ref<Value> nothing = lift_literal(-std::numeric_limits<double>::infinity(), dy);
  const Ref<Value> is_positive = call("greater", {&dy, zero.get()});
  const Ref<Value> is_sum = call("greater", {&y, nothing.get()});
  const Ref<Value> flows = call("logical_and", {is_positive.get(), is_sum.get()});
  const Ref<Value> safe = call("where", {flows.get(), &dy, lift_literal(1.0, dy).get()});
  const Ref<Value> apart = call("subtract", {call("log", {safe.get()}).get(), &y});
  const Ref<Value> terms = call("where", {flows.get(), apart.get(), nothing.get()});
  const Ref<Value> sums = scan.backwards("logcumsumexp", *terms);
  return call("exp", {call("add", {&x, sums.get()}).get()});
}

void grad_logcumsumexp(GradCall& c) {
  const Scan scan(c);
  const Ref<Value> dy = scan.trimmed(*c.cotangents[0]);
  const Ref<Value> y = scan.trimmed(*c.outputs[0]);
  const Ref<Value> opposite = call("negative", {dy.get()});
  const Ref<Value> gains = shares_of_positive(scan, *c.inputs[0], *y, *dy);
  const Ref<Value> losses = shares_of_positive(scan, *c.inputs[0], *y, *opposite);
  c.result(0) = call("subtract", {gains.get(), losses.get()});
}

void grad_scan(GradCall& c) {
  const std::string& mode = c.op.get<std::string>("mode");
  if (mode == "cumulative_sum") return grad_cumulative_sum(c);
  if (mode == "cumulative_prod") return grad_cumulative_prod(c);
  if (mode == "logcumsumexp") return grad_logcumsumexp(c);
  grad_cumulative_extreme(c);
}

bool reads_values(const Op& op) { return op.get<std::string>("mode") != "cumulative_sum"; }

constexpr std::pair<std::string_view, GradRule> kScanGradients[] = {
    {"scan", {grad_scan, 1U, true, reads_values, reads_values}},
};

}  // namespace

RuleTable<GradRule> scan_gradients() { return kScanGradients; }

}  // namespace tensorlike
