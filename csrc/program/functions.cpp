#include "program/functions.h"

#include <atomic>
#include <cmath>

#include "engine/engine.h"
#include "op/registry.h"
#include "tensor/body.h"

namespace tensorlike::tape {
namespace {

std::atomic<int64_t> seed{0};
std::atomic<int64_t> draws{0};
std::atomic<int64_t> layers{0};

Ref<RawTensor> raw(const Ref<Value>& value) {
  return Ref<RawTensor>(static_cast<RawTensor*>(value.get()));
}

// Moves a parameter by an update rule of its value, gradient and state, then numbers. The memory of
// the first `donated` arguments is written over where nobody else has it. Returns the new state.
Values update(const char* function, Variable& parameter, std::vector<Ref<RawTensor>> args,
              std::initializer_list<double> numbers, int donated) {
  const Op& op = registry().scalar_op(function);
  args.insert(args.begin(), parameter.take_value());
  for (double number : numbers)
    args.push_back(RawTensor::scalar(args[0]->dtype, number, args[0]->device));
  SmallVector<Value*, 4> pointers;
  for (const Ref<RawTensor>& arg : args) pointers.push_back(arg.get());
  const Args all(pointers.data(), pointers.size());
  const bool is_direct = op.cls.plain && runs_at_once();
  Values results;
  try {
    results = is_direct ? launch(op, all, (1U << donated) - 1, 1) : apply(op, all);
  } catch (...) {
    parameter.set_value(args[0]);
    throw;
  }
  parameter.set_value(raw(results[0]));
  return results;
}

// The parameter's gradient; null where Backward has not reached it.
Ref<RawTensor> gradient_of(const VariableHandle& parameter) {
  check_given("optimiser", parameter.get());
  const VariableHandle gradient = parameter->Grad();
  return gradient->is_empty() ? nullptr : gradient->value();
}

VariableHandle initialized(std::string name, const std::vector<int64_t>& shape,
                           const Initializer& initializer) {
  Tape init_tape;
  return make_ref<Variable>(std::move(name), initializer(init_tape, shape)->value());
}

}  // namespace

void set_seed(int64_t wanted) {
  seed = wanted;
  draws = 0;
}

Initializer constant(double value) {
  return [=](Tape& tape, const std::vector<int64_t>& shape) -> VariableHandle {
    return tape.AddOp("full", {},
                      {{"shape", shape}, {"fill_value", value}, {"dtype", DType::kFloat32}});
  };
}

Initializer uniform(double bound) {
  return [=](Tape& tape, const std::vector<int64_t>& shape) -> VariableHandle {
    const VariableHandle drawn = tape.AddOp("random_draw", {},
                                            {{"shape", shape},
                                             {"mode", "uniform"},
                                             {"key", seed.load()},
                                             {"counter", draws.fetch_add(1)}});
    const auto number = [](double value) {
      return make_ref<Variable>("", RawTensor::scalar(DType::kFloat32, value));
    };
    const VariableHandle scaled = tape.AddOp("multiply", {drawn, number(2 * bound)});
    return tape.AddOp("subtract", {scaled, number(bound)});
  };
}

Linear::Linear(int64_t in, int64_t out, std::string act, Initializer weight, Initializer bias)
    : act_(std::move(act)) {
  if (in <= 0 || out <= 0) {
    fail(ErrorKind::kShape, said::op("Linear"), "both sizes must be positive",
         said::got(in, " and ", out));
  }
  if (!act_.empty()) op_by_name(act_, {});  // a misspelt name is told here
  if (!weight) weight = uniform(std::sqrt(6.0 / static_cast<double>(in)));
  if (!bias) bias = constant(0);
  const std::string number = std::to_string(layers.fetch_add(1) + 1);
  weight_ = initialized("weight" + number, {in, out}, weight);
  bias_ = initialized("bias" + number, {out}, bias);
}

VariableHandle Linear::operator()(const VariableHandle& input) const {
  Tape& tape = get_global_tape();
  const VariableHandle product = tape.AddOp("matmul", {input, weight_});
  const VariableHandle sum = tape.AddOp("add", {product, bias_});
  return act_.empty() ? sum : VariableHandle(tape.AddOp(act_, {sum}));
}

VariableHandle Mean::operator()(const VariableHandle& x) const {
  return get_global_tape().AddOp("mean", {x});
}

VariableHandle Softmax::operator()(const VariableHandle& x) const {
  return get_global_tape().AddOp("softmax", {x}, {{"axis", axis}});
}

VariableHandle softmax(const VariableHandle& logits, const VariableHandle& label) {
  return get_global_tape().AddOp("cross_entropy_mean", {logits, label});
}

Fill::Fill(std::vector<Ref<RawTensor>> columns, int64_t batch)
    : columns_(std::move(columns)), batch_(batch) {
  if (columns_.empty())
    fail(ErrorKind::kShape, said::op("Fill"), "at least one column of data is needed.");
  for (const Ref<RawTensor>& column : columns_) {
    check_given("Fill", column.get());
    const int64_t first = columns_[0]->shape.empty() ? 0 : columns_[0]->shape[0];
    if (batch_ == 0) batch_ = first;
    if (column->shape.empty() || column->shape[0] != first || batch_ < 1 || batch_ > first) {
      fail(ErrorKind::kShape, said::op("Fill"),
           "all columns must have the same number of rows, and a batch at most that many",
           said::got("a column of the shape ", to_string(column->shape), " beside ",
                     to_string(columns_[0]->shape), ", a batch of ", batch));
    }
  }
}

Fill::Fill(std::string type, Attributes attributes)
    : type_(std::move(type)), attributes_(std::move(attributes)) {}

void Fill::feed(const std::vector<VariableHandle>& variables) {
  if (type_.empty() && variables.size() != columns_.size()) {
    fail(ErrorKind::kShape, said::op("Fill"), "a variable is needed for each of the ",
         columns_.size(), " columns of data", said::got(variables.size()));
  }
  for (size_t i = 0; i < variables.size(); ++i) {
    check_given("Fill", variables[i].get());
    Ref<RawTensor> value;
    if (!type_.empty()) {
      Tape tape;
      value = VariableHandle(tape.AddOp(type_, {}, attributes_))->value();
    } else {
      const RawTensor& column = *columns_[i];
      Dims shape = column.shape;
      shape[0] = batch_;
      value = column.view(shape, column.strides, next_ * column.strides[0]);
    }
    if (variables[i]->is_empty()) variables[i]->set_wants_gradient(false);
    variables[i]->set_value(std::move(value));
  }
  if (!type_.empty()) return;
  next_ += batch_;
  if (next_ + batch_ > columns_[0]->shape[0]) next_ = 0;
}

void SGD::operator()(const std::vector<VariableHandle>& parameters) const {
  for (const VariableHandle& parameter : parameters) {
    const Ref<RawTensor> gradient = gradient_of(parameter);
    if (gradient) update("sgd_step", *parameter, {gradient}, {lr_}, 1);
  }
}

void Adam::operator()(const std::vector<VariableHandle>& parameters) {
  for (const VariableHandle& parameter : parameters) {
    const Ref<RawTensor> gradient = gradient_of(parameter);
    if (!gradient) continue;
    Moments& own = moments_[parameter.get()];
    if (!own.parameter) {
      own.parameter = parameter;
      const Spec& spec = parameter->desc();
      own.mean = broadcast_to(*RawTensor::scalar(spec.dtype, 0.0, spec.device), spec.shape);
      own.variance = own.mean;
    }
    const double step = static_cast<double>(++own.step);
    std::vector<Ref<RawTensor>> state{gradient, std::move(own.mean), std::move(own.variance)};
    const Values results =
        update("adam_step", *parameter, std::move(state),
               {lr_, beta1_, beta2_, 1 - beta1_, 1 - beta2_, eps_, 1 / (1 - std::pow(beta1_, step)),
                1 / (1 - std::pow(beta2_, step))},
               4);
    own.mean = raw(results[1]);
    own.variance = raw(results[2]);
  }
}

}  // namespace tensorlike::tape
