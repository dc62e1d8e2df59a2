// Acceptance row L10: every registered op works on the tape as it does on elements. Whatever a
// functional call makes of some inputs, the tape makes of variables of them, gradients included;
// and so it is with an op that is declared while the program runs.
#include <algorithm>
#include <cstring>

#include "dispatch/dispatcher.h"
#include "op/registry.h"
#include "tape/gradient.h"
#include "tape_support.h"

namespace tensorlike::tape {
namespace {

// Values for what has no default: the words of a choice, else the examples of the type.
std::vector<Attr> some_values(const AttrSpec& spec) {
  if (spec.choices.empty()) return spec.type->examples;
  return {spec.choices.begin(), spec.choices.end()};
}

// Inputs of several kinds, one of which most ops take: a letter for the dtype, and dimensions. The
// last stands for all that follow.
const std::vector<std::vector<const char*>> kKinds = {
    {"f22"},
    {"i22"},
    {"b22"},
    {"b22", "f22"},
    {"f22", "b22", "f22"},
    {"f22", "i2"},
    {"f22", "b22", "f2"},
    {"f1222"},
    {"f124"},
    {"f12222"},
    {"f124", "f223"},
    {"f1244", "f2233"},
    {"f12333", "f22222"},
    {"f22", "i22"},
    {"f22", "f2", "i2"},
    {"f4", "f22"},
    {"f22", "i2", "f2"},
    {"f22", "f2", "i2", "i2"},
};

Ref<RawTensor> some_input(const std::vector<const char*>& kind, size_t index) {
  const std::string text = kind[std::min(index, kind.size() - 1)];
  Dims shape;
  for (char digit : text.substr(1)) shape.push_back(digit - '0');
  constexpr float kNumbers[] = {0.25F, 0.5F, 0.75F, 0.125F, 0.3F, 0.9F, 0.7F, 0.6F};
  std::vector<float> floats;
  std::vector<int64_t> integers;
  for (size_t i = 0; i < static_cast<size_t>(element_count(shape)); ++i) {
    floats.push_back(kNumbers[(i * 3 + index) % 8]);
    integers.push_back(static_cast<int64_t>((i + index) % 2));
  }
  if (text[0] == 'f') return make_tensor(floats, shape);
  const Ref<RawTensor> made = make_tensor(integers, shape);
  return text[0] == 'i' ? made : cast(*made, DType::kBool);
}

std::vector<float> floats_of(const Ref<Value>& value) {
  Value* inner = value.get();
  while (inner->tag == Value::kTracer) inner = static_cast<Tracer*>(inner)->primal.get();
  Ref<RawTensor> x(static_cast<RawTensor*>(inner));
  x->ready("test");
  if (kind_of(x->dtype) == Kind::kComplex) x = cast(*x, DType::kComplex64);
  const Ref<RawTensor> whole =
      contiguous(kind_of(x->dtype) == Kind::kComplex ? *x : *cast(*x, DType::kFloat32));
  std::vector<float> out(static_cast<size_t>(whole->size()) * size_of(whole->dtype) / 4);
  if (!out.empty()) std::memcpy(out.data(), whole->data, out.size() * 4);
  return out;
}

bool close(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    const bool is_same = x == y || (x != x && y != y);
    return is_same || std::fabs(x - y) <= 1e-5F * std::max(1.0F, std::fabs(x));
  });
}

bool is_real(const Value& value) {
  Spec spec;
  return value.spec(spec) && kind_of(spec.dtype) == Kind::kFloating;
}

// The first result on tracers, and the gradient of each input; null where nothing flows.
std::vector<std::vector<float>> eager(const Op& op, const std::vector<Ref<RawTensor>>& inputs) {
  Values traced;
  SmallVector<Value*, 4> args;
  for (const Ref<RawTensor>& input : inputs) {
    const bool flows = is_real(*input);
    traced.push_back(flows ? Ref<Value>(make_leaf(input, Ref(&base_tape()))) : Ref<Value>(input));
    args.push_back(traced.back().get());
  }
  const Ref<Value> y = apply(op, {args.data(), args.size()})[0];
  std::vector<std::vector<float>> out(inputs.size() + 1);
  out[0] = floats_of(y);
  if (y->tag != Value::kTracer || !is_real(*y)) return out;
  const Edge root = static_cast<Tracer*>(y.get())->edge;
  if (!root.node) return out;
  Values seeds;
  seeds.push_back(
      fit(lift_literal(1.0, *static_cast<Tracer*>(y.get())->primal), spec_of("test", *y)));
  backward(base_tape(), {&root, 1}, std::move(seeds), {},
           [&](const Edge& edge, const Ref<Value>& dx) {
             for (size_t i = 0; i < inputs.size(); ++i) {
               const bool is_it = traced[i]->tag == Value::kTracer &&
                                  static_cast<Tracer*>(traced[i].get())->edge.node == edge.node;
               if (is_it) out[i + 1] = floats_of(dx);
             }
           });
  return out;
}

std::vector<std::vector<float>> taped(const std::string& name, const Attributes& attributes,
                                      const std::vector<Ref<RawTensor>>& inputs) {
  Tape tape;
  std::vector<VariableHandle> variables;
  for (const Ref<RawTensor>& input : inputs) {
    variables.push_back(VariableHandle(new Variable("x", input)));
  }
  const VariableHandle y = tape.AddOp(name, variables, attributes)[0];
  std::vector<std::vector<float>> out(inputs.size() + 1);
  out[0] = floats_of(y->value());
  if (!is_real(*y)) return out;
  const VariableHandle one(new Variable("one", RawTensor::scalar(y->desc().dtype, 1.0)));
  const Dims& shape = y->desc().shape;
  const VariableHandle ones = tape.AddOp(
      "broadcast_to", {one}, {{"shape", std::vector<int64_t>(shape.begin(), shape.end())}});
  try {
    tape.Backward(y, VariableHandle(new Variable("ones", ones->value())));
  } catch (const Error& error) {
    if (std::string(error.what()).starts_with("Backward: the loss must follow")) return out;
    throw;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const VariableHandle gradient = variables[i]->Grad();
    if (!gradient->is_empty()) out[i + 1] = floats_of(gradient->value());
  }
  return out;
}

// Whether an attribute is to be given: as it must, or as the window of a pooling op.
bool is_given(const Function& function, const AttrSpec& spec) {
  const std::vector<AttrSpec>& all = function.spec.attrs;
  const bool has_window = std::any_of(
      all.begin(), all.end(), [](const AttrSpec& other) { return other.name == "kernel_size"; });
  return spec.required || spec.name == "kernel_size" ||
         (spec.name == "output_size" && spec.type == attr_type("sizes") && !has_window);
}

// Whether the function takes these inputs, and of each attribute's values that of this number, or
// the last; the tape must agree then.
bool check(const Function& function, const std::vector<const char*>& kind, size_t number) {
  Attributes attributes;
  std::vector<Attr> values;
  for (const AttrSpec& spec : function.spec.attrs) {
    if (is_given(function, spec)) {
      const std::vector<Attr> some = some_values(spec);
      attributes.emplace_back(spec.name, some[std::min(number, some.size() - 1)]);
    }
    values.push_back(is_given(function, spec) ? attributes.back().second : spec.fallback);
  }
  std::vector<Ref<RawTensor>> inputs;
  for (const ArgSpec& arg : function.spec.args) {
    if (!arg.optional) inputs.push_back(some_input(kind, inputs.size()));
  }
  std::vector<std::vector<float>> wanted;
  try {
    const Ref<Op> op = function.make_op(values);
    wanted = eager(*op, inputs);
  } catch (const Error&) {
    return false;  // not for this function
  }
  std::string what = "L10: " + function.spec.name + " of " + kind[0];
  for (const auto& [name, value] : attributes) what += ", " + name + "=" + to_string(value);
  try {
    const auto got = taped(function.spec.name, attributes, inputs);
    expect(close(got[0], wanted[0]), what + ": the result");
    for (size_t i = 1; i < got.size(); ++i) expect(close(got[i], wanted[i]), what + ": gradient");
  } catch (const Error& error) {
    expect(false, what + ": " + error.what());
  }
  return true;
}

bool check(const Function& function) {
  bool is_taken = false;
  size_t most = 1;
  for (const AttrSpec& spec : function.spec.attrs) {
    if (is_given(function, spec)) most = std::max(most, some_values(spec).size());
  }
  for (const std::vector<const char*>& kind : kKinds) {
    for (size_t number = 0; number < most; ++number) {
      is_taken = check(function, kind, number) || is_taken;
    }
  }
  return is_taken;
}

void test_l10_every_function_works_on_the_tape() {
  int total = 0;
  int checked = 0;
  std::string others;
  for (const Function* function : registry().functions()) {
    if (function->spec.op == "Const") continue;
    ++total;
    const bool is_taken = check(*function);
    checked += is_taken;
    if (!is_taken) others += " " + function->spec.name;
  }
  std::printf("%d of %d functions; no inputs for:%s\n", checked, total, others.c_str());
  // More where TENSORLIKE_LAPACK names a library.
  expect(checked * 100 >= total * 85, "L10: nearly all functions have inputs here");
}

void test_l10_an_op_declared_while_the_program_runs() {
  ScalarSpec twice;
  twice.name = "twice_the_sine";
  twice.args = {{"x", Category::kRealFloating}};
  // 2 * sin(x); by x: 2 * cos(x) * dy, of the slots x, y, dy, 2.
  twice.expansion = Body{1, {int64_t{2}}, {Step{"sin", {0}}, Step{"multiply", {1, 2}}}, {3}};
  twice.grads =
      std::vector{Grad{0,
                       {3,
                        {int64_t{2}},
                        {Step{"cos", {0}}, Step{"multiply", {3, 4}}, Step{"multiply", {5, 2}}},
                        {6}}}};
  registry().add(twice);
  registry().add(FunctionSpec{
      "twice_the_sine", "Elemwise", {{"mode", std::string("twice_the_sine")}}, twice.args});
  registry().link();
  Tape tape;
  const VariableHandle x = variable("x", {0.5F}, {1});
  const VariableHandle y = tape.AddOp("twice_the_sine", {x});
  expect(tape.ops().size() == 1 && tape.ops()[0].type() == "twice_the_sine", "L10: one op");
  tape.Backward(y);
  expect_near(y->item(), 2 * std::sin(0.5), 1e-6, "L10: its value");
  expect_near(x->Grad()->item(), 2 * std::cos(0.5), 1e-6, "L10: its gradient");
}

void test_l10_a_number_takes_the_place_of_a_default() {
  Tape tape;
  const VariableHandle x = variable("x", {-2.0F}, {1});
  const VariableHandle y = tape.AddOp("leaky_relu", {x}, {{"negative_slope", 0.25}});
  const VariableHandle usual = tape.AddOp("leaky_relu", {x});
  const VariableHandle slots =
      tape.AddOp("leaky_relu", Slots{{"x", {x}}}, Slots{}, {{"negative_slope", int64_t{3}}});
  expect_near(usual->item(), -0.02, 1e-7, "L10: the default");
  expect_near(slots->item(), -6.0, 1e-7, "L10: a number beside slots");
  tape.Backward(y);
  expect_near(y->item(), -0.5, 1e-7, "L10: the number");
  expect_near(x->Grad()->item(), 0.25, 1e-7, "L10: its gradient");
  auto error = [&](const std::vector<VariableHandle>& inputs, const Attributes& attributes) {
    return error_of([&] { Tape().AddOp("leaky_relu", inputs, attributes); });
  };
  expect_error(error({x}, {{"negative_slope", std::string("steep")}}),
               "leaky_relu: negative_slope must be a number; got 'steep'; give a variable among "
               "the inputs.",
               "L10: text is no number");
  expect_error(error({x}, {{"slope", 0.5}}), "leaky_relu: it has no attribute 'slope'.",
               "L10: no argument of that name");
  expect_error(error_of([&] { Tape().AddOp("softshrink", {x}, {{"lambd", -0.5}}); }),
               "softshrink: lambd >= 0 must hold; got lambd=-0.5.",
               "L10: a number that its declaration refuses");
  expect_error(error({x, x}, {{"negative_slope", 0.5}}),
               "leaky_relu: negative_slope must be given once; got a variable among the inputs and "
               "a number.",
               "L10: a number and a variable for one argument");
}

}  // namespace
}  // namespace tensorlike::tape

int main() {
  using namespace tensorlike::tape;
  test_l10_every_function_works_on_the_tape();
  test_l10_an_op_declared_while_the_program_runs();
  test_l10_a_number_takes_the_place_of_a_default();
  return report();
}
