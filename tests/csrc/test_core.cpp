// The core without Python: ops applied, a layer trained on the tape, a rule added, memory given
// back, a long chain released.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "dispatch/dispatcher.h"
#include "expect.h"
#include "memory/allocator.h"
#include "op/registry.h"
#include "tape/gradient.h"
#include "tape/tape.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

Ref<RawTensor> tensor(Dims shape, const std::vector<float>& values) {
  Ref<RawTensor> made = RawTensor::empty(DType::kFloat32, std::move(shape));
  std::copy(values.begin(), values.end(), made->as<float>());
  return made;
}

float element(const Ref<Value>& value, int64_t i) {
  Value* raw = value.get();
  while (raw->tag == Value::kTracer) raw = static_cast<Tracer*>(raw)->primal.get();
  return contiguous(*static_cast<RawTensor*>(raw))->as<float>()[i];
}

void test_ops() {
  const auto x = tensor({2, 2}, {1, 2, 3, 4});
  const Ref<Value> sum = call("sum", {x.get()}, {{"axis", int64_t{0}}});
  expect(element(sum, 0) == 4 && element(sum, 1) == 6, "a reduction along an axis");
  const Ref<Value> product = call("matmul", {x.get(), x.get()});
  expect(element(product, 0) == 7 && element(product, 3) == 22, "a matrix product");
  bool refused = false;
  try {
    const auto wide = tensor({3}, {1, 2, 3});
    call("add", {x.get(), wide.get()});
  } catch (const Error& error) {
    refused = error.kind() == ErrorKind::kShape &&
              std::string(error.what()) ==
                  "add: shapes must broadcast; got (2, 2) and (3,); each dimension must be equal, "
                  "or one of them 1.";
  }
  expect(refused, "shapes that do not broadcast are refused by name");
  for (const char* function : {"sum", "sin"}) {
    refused = false;
    try {
      call(function, {x.get()}, {{"axes", int64_t{0}}});
    } catch (const Error& error) {
      refused = error.kind() == ErrorKind::kAttribute &&
                std::string(error.what()) == std::string(function) + ": extra kwargs: {'axes'}.";
    }
    expect(refused, "an attribute that the function does not have is refused");
  }
}

// y = x @ w + b, fitted to y = 2 x0 - x1 + 0.5 by gradient descent.
void test_training() {
  const auto x = tensor({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  const auto y = tensor({4, 1}, {0.5F, -0.5F, 2.5F, 1.5F});
  Ref<Value> w = tensor({2, 1}, {0, 0});
  Ref<Value> b = tensor({1}, {0});
  const auto rate = tensor({}, {0.3F});
  const Op& step = registry().scalar_op("sgd_step");
  float loss = 0;
  for (int i = 0; i < 300; ++i) {
    const Ref<Tape> tape = open_tape();
    const Ref<Tracer> weight = make_leaf(w, tape);
    const Ref<Tracer> bias = make_leaf(b, tape);
    const Ref<Value> product = call("matmul", {x.get(), weight.get()});
    const Ref<Value> out = call("add", {product.get(), bias.get()});
    const Ref<Value> error = call("subtract", {out.get(), y.get()});
    const Ref<Value> squared = call("square", {error.get()});
    const Ref<Value> total = call("mean", {squared.get()});
    loss = element(total, 0);
    const Edge root = static_cast<Tracer*>(total.get())->edge;
    Values seed;
    seed.push_back(tensor({}, {1}));
    backward(*tape, {&root, 1}, std::move(seed), {},
             [&](const Edge& edge, const Ref<Value>& gradient) {
               Ref<Value>& parameter = edge.node == weight->edge.node ? w : b;
               Value* args[] = {parameter.get(), gradient.get(), rate.get()};
               parameter = apply_one(step, args);
             });
    close_tape(*tape);
  }
  expect(loss < 1e-8F, "training reduces the loss to nothing");
  expect(std::fabs(element(w, 0) - 2) < 1e-3F && std::fabs(element(w, 1) + 1) < 1e-3F,
         "training finds the weights");
}

class CountingRule final : public Rule {
 public:
  CountingRule()
      : Rule("count", "test_core.cpp", {&op_base_type(), {{&raw_tensor_type()}}, true}) {}
  bool call(const Op& op, Args args, Values& out) override {
    ++calls;
    out = dispatcher().call_super(op, args);
    return true;
  }
  int calls = 0;
};

void test_rules() {
  const auto x = tensor({2}, {1, 2});
  const auto rule = std::make_shared<CountingRule>();
  dispatcher().add(rule);
  const Ref<Value> y = call("exp", {x.get()});
  expect(rule->calls == 1 && std::fabs(element(y, 0) - 2.7182817F) < 1e-6F,
         "a rule sits on top of RawTensor and continues with the kernel");
  dispatcher().remove(*rule);
  call("exp", {x.get()});
  expect(rule->calls == 1, "a rule that was removed has no say");
}

void test_long_chain() {
  const size_t before = memory_stats().allocated;
  {
    const Ref<Tape> tape = open_tape();
    const Ref<Tracer> leaf = make_leaf(tensor({1}, {1}), tape);
    const auto one = tensor({1}, {1});
    Ref<Value> y = leaf;
    const Op& add = registry().scalar_op("add");
    for (int i = 0; i < 200000; ++i) {
      Value* args[] = {y.get(), one.get()};
      y = apply_one(add, args);
    }
    close_tape(*tape);
    expect(tape->recorded == 200000, "every op is recorded");
  }
  expect(memory_stats().allocated == before, "a long chain gives its memory back");
}

}  // namespace
}  // namespace tensorlike

int main() {
  tensorlike::test_ops();
  tensorlike::test_training();
  tensorlike::test_rules();
  tensorlike::test_long_chain();
  if (tensorlike::failures == 0) std::printf("all tests passed\n");
  return tensorlike::failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
