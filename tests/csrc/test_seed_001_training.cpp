// Acceptance rows L6, L7 and L10: functions and optimisers on the tape of seed 001, golden values,
// fusion, and memory.
#include "engine/engine.h"
#include "engine/profile.h"
#include "memory/allocator.h"
#include "tape_support.h"

namespace tensorlike::tape {
namespace {

// A function of one's own.
struct Scale {
  VariableHandle factor = variable("factor", {3}, {1});
  VariableHandle operator()(const VariableHandle& x) const {
    return get_global_tape().AddOp("multiply", {x, factor});
  }
};

void test_l6_functions() {
  reset_global_tape();
  set_seed(1);
  const Linear linear(4, 3, "tanh");
  expect(linear.Params().size() == 2 && linear.Params()[0]->desc().shape == Dims({4, 3}),
         "L6: parameters");
  const Linear again(4, 3, "tanh");
  expect(linear.Params()[0]->elements<float>() != again.Params()[0]->elements<float>(),
         "L6: layers differ");
  expect(error_of([] { Linear(2, 2, "rellu"); }).find("did you mean 'relu'") != std::string::npos,
         "L6: a misspelt activation");
  const VariableHandle x(new Variable("x"));
  const VariableHandle label(new Variable("label"));
  Fill feeder({make_tensor<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {5, 2}),
               make_tensor<int64_t>({0, 1, 0, 1, 0}, {5})},
              2);
  feeder(x, label);
  expect(x->elements<float>() == std::vector<float>({1, 2, 3, 4}), "L6: the first rows");
  feeder(x, label);
  expect(label->elements<int64_t>() == std::vector<int64_t>({0, 1}), "L6: the next rows");
  feeder(x, label);
  expect(x->elements<float>()[0] == 1, "L6: and again");
  const VariableHandle probabilities = Softmax()(x);
  expect_near(probabilities->elements<float>()[1], 1 / (1 + std::exp(-1.0)), 1e-6, "L6: Softmax");
  const VariableHandle loss = softmax(Scale()(x), label);
  expect_near(loss->item(), (std::log1p(std::exp(3.0)) + std::log1p(std::exp(-3.0))) / 2, 1e-5,
              "L6: the loss");
  get_global_tape().Backward(loss);
  expect(x->Grad()->is_empty(), "L6: data has no gradient");
  expect(error_of([&] { feeder(x); }).starts_with("Fill: a variable is needed for each of the 2"),
         "L6: too few variables");
}

void test_l6_optimisers() {
  for (const bool is_adam : {false, true}) {
    const VariableHandle p = variable("p", {1, -2}, {2});
    const VariableHandle q = variable("q", {1}, {1});
    const SGD sgd(0.25);
    Adam adam(0.5);
    for (int i = 0; i < 60; ++i) {
      reset_global_tape();
      Tape& tape = get_global_tape();
      tape.Backward(tape.AddOp("sum", {tape.AddOp("square", {p})}));
      const auto* memory = p->value()->data;
      is_adam ? adam({p, q}) : sgd({p, q});
      expect(i == 0 || p->value()->data == memory, "L6: an update writes over its memory");
      if (i == 0) {
        expect_near(p->elements<float>()[0], 0.5, 1e-6, "L6: one step");
        expect_near(p->elements<float>()[1], is_adam ? -1.5 : -1, 1e-6, "L6: one step");
      }
    }
    expect(q->item() == 1, "L6: a parameter without a gradient stays");
    expect(std::fabs(p->elements<float>()[1]) < 0.05F, "L6: the optimiser finds the minimum");
  }
}

// The seed's test of a multilayer perceptron.
void train_mlp(std::vector<double>& losses, std::vector<std::vector<float>>& gradients) {
  const Linear linear1(3, 3, "relu", constant(1), constant(1));
  const Linear linear2(3, 3, "relu", constant(1), constant(1));
  const Mean mean;
  const SGD sgd(0.001);
  Fill filler("full", {{"shape", std::vector<int64_t>{3, 3}}, {"fill_value", 1.0}});
  for (int i = 0; i < 3; ++i) {
    reset_global_tape();
    const VariableHandle input(new Variable("input"));
    filler(input);
    const VariableHandle loss = mean(linear2(linear1(input)));
    losses.push_back(loss->item());
    get_global_tape().Backward(loss);
    for (const Linear* layer : {&linear1, &linear2}) {
      for (const VariableHandle& parameter : layer->Params()) {
        if (i == 0) gradients.push_back(parameter->Grad()->elements<float>());
      }
    }
    sgd(linear1.Params());
    sgd(linear2.Params());
  }
}

void test_l7_golden_values() {
  std::vector<double> losses;
  std::vector<std::vector<float>> gradients;
  train_mlp(losses, gradients);
  const double wanted[] = {13.0, 12.9716826667, 12.9434292587};
  for (int i = 0; i < 3; ++i) expect_near(losses[i], wanted[i], 2e-6, "L7: loss");
  const double slopes[] = {1, 1, 4.0 / 3, 1.0 / 3};
  for (size_t k = 0; k < 4; ++k) {
    expect(gradients[k].size() == (k % 2 == 0 ? 9U : 3U), "L7: shapes of gradients");
    for (float element : gradients[k]) expect_near(element, slopes[k], 1e-6, "L7: gradient");
  }
}

// A chain of elementwise ops and its gradient; whoever gives a large x lets launches wait.
double deep_loss(const VariableHandle& x, int depth) {
  Tape& tape = get_global_tape();
  VariableHandle y = x;
  for (int i = 0; i < depth; ++i) {
    const VariableHandle t = tape.AddOp("tanh", {y});
    y = tape.AddOp("add", {tape.AddOp("multiply", {t, x}), tape.AddOp("sin", {y})});
  }
  const VariableHandle loss = tape.AddOp("mean", {y});
  tape.Backward(loss);
  return loss->item();
}

void test_l10_fusion_has_the_same_bits_and_fewer_launches() {
  std::vector<float> values(40000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  const VariableHandle x = variable("x", values, {200, 200});
  double losses[2];
  std::vector<float> gradients[2];
  size_t launches[2];
  for (const bool is_lazy : {false, true}) {
    tensorlike::EngineOptions options;
    if (is_lazy) options.mode = tensorlike::EngineMode::kLazy;
    tensorlike::set_engine_options(options);
    reset_global_tape();
    const int64_t profile = tensorlike::start_profile();
    losses[is_lazy] = deep_loss(x, 6);
    gradients[is_lazy] = x->Grad()->elements<float>();
    launches[is_lazy] = tensorlike::stop_profile(profile).size();
  }
  tensorlike::set_engine_options({});
  expect(losses[0] == losses[1] && gradients[0] == gradients[1], "L10: the same bits");
  expect(launches[1] * 2 < launches[0], "L10: fewer launches: " + std::to_string(launches[1]) +
                                            " instead of " + std::to_string(launches[0]));
}

void test_l10_backward_frees_what_it_has_passed() {
  reset_global_tape();
  const int64_t side = 512;
  const size_t bytes = side * side * sizeof(float);
  const size_t before = memory_stats().allocated;
  const VariableHandle x(
      new Variable("x", make_tensor(std::vector<float>(side * side, 0.5F), {side, side})));
  Tape& tape = get_global_tape();
  VariableHandle y = x;
  for (int i = 0; i < 20; ++i) y = tape.AddOp("tanh", {y});
  const VariableHandle loss = tape.AddOp("mean", {y});
  y = nullptr;
  tape.Forward();
  const size_t after_forward = memory_stats().allocated - before;
  expect(after_forward >= 20 * bytes, "L10: Forward keeps what Backward needs");
  tensorlike::reset_peak_memory();
  tape.Backward(loss);
  expect(memory_stats().peak - before <= after_forward + 5 * bytes,
         "L10: Backward needs little more than Forward kept: " +
             std::to_string((memory_stats().peak - before) / bytes) + " after " +
             std::to_string(after_forward / bytes));
  expect(memory_stats().allocated - before <= 3 * bytes, "L10: and frees it");
  expect(x->Grad()->desc().shape == Dims({side, side}), "L10: the gradient stays");
}

// Memory that runs out at every point, once each, leaves everything usable.
void test_l10_failures_leave_nothing_behind() {
  const VariableHandle x = variable("x", {0.5F, -1}, {2});
  const size_t before = memory_stats().allocated;
  int64_t count = 0;
  for (bool has_failed = true; has_failed; ++count) {
    Tape tape;
    const VariableHandle y = tape.AddOp("exp", {tape.AddOp("multiply", {x, x})});
    const VariableHandle loss = tape.AddOp("sum", {y});
    fail_allocation_after(count);
    const std::string problem = error_of([&] { tape.Backward(loss); });
    has_failed = problem != "nothing was thrown";
    fail_allocation_after(-1);
    const VariableHandle gradient = x->Grad();
    if (!has_failed || gradient->is_empty()) continue;
    expect(error_of([&] { gradient->value(); }).starts_with("value: the elements of 'x_grad'") ||
               gradient->elements<float>().size() == 2,
           "L10: a gradient is whole or an error");
    expect(loss->item() > 1, "L10: what went forward is there");
    expect(
        error_of([&] { tape.Backward(loss); }).starts_with("Backward: a tape runs backward once"),
        "L10: but the tape is used up");
  }
  expect(count > 4 && x->Grad()->is_empty(), "L10: it failed at several points");
  expect(memory_stats().allocated == before, "L10: failures give memory back");
  Tape tape;
  tape.Backward(tape.AddOp("sum", {tape.AddOp("multiply", {x, x})}));
  expect(x->Grad()->elements<float>() == std::vector<float>({1, -2}), "L10: and it goes on");
}

void test_l10_a_long_tape() {
  const size_t before = memory_stats().allocated;
  {
    Tape tape;
    const VariableHandle x = variable("x", {1}, {1});
    VariableHandle y = x;
    for (int i = 0; i < 100000; ++i) y = tape.AddOp("negative", {y});
    const VariableHandle loss = tape.AddOp("sum", {y});
    tape.Backward(loss);
    expect(x->Grad()->item() == 1, "L10: a long tape");
  }
  expect(memory_stats().allocated == before, "L10: a long tape gives its memory back");
}

}  // namespace
}  // namespace tensorlike::tape

int main() {
  using namespace tensorlike::tape;
  test_l6_functions();
  test_l6_optimisers();
  test_l7_golden_values();
  test_l10_fusion_has_the_same_bits_and_fewer_launches();
  test_l10_backward_frees_what_it_has_passed();
  test_l10_failures_leave_nothing_behind();
  test_l10_a_long_tape();
  return report();
}
