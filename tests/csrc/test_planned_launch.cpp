// A plan serves an op for as long as its class has the kernel that the plan was made with, and
// every thread that shares the op.
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "op/registry.h"
#include "tensor/planned_launch.h"
#include "tensor/raw_tensor.h"

using namespace tensorlike;

namespace {

#define CHECK(condition)                                                 \
  if (!(condition)) {                                                    \
    std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    std::exit(1);                                                        \
  }

template <int kFactor>
void multiplied(const Op&, Arrays inputs, Arrays outputs, Workspace&) {
  for (int64_t i = 0; i < outputs[0]->count; ++i) {
    outputs[0]->as<float>()[i] = kFactor * inputs[0]->as<float>()[i];
  }
}

Specs as_given(const Op&, std::span<const Spec> inputs) { return Specs(1, inputs[0]); }

OpClass& declared() {
  OpSpec spec;
  spec.name = "Multiplied";
  spec.args = {{"x", Category::kAll}};
  spec.differentiable = false;
  registry().add(std::move(spec), OwnRules{KernelRule(multiplied<2>), as_given});
  registry().link();
  return const_cast<OpClass&>(*registry().find_op("Multiplied"));
}

Ref<RawTensor> ones(int64_t n) {
  Ref<RawTensor> x = RawTensor::empty(DType::kFloat32, {n});
  for (int64_t i = 0; i < n; ++i) x->as<float>()[i] = 1;
  return x;
}

float first_of(const Op& op, const Ref<RawTensor>& x) {
  Value* args[] = {x.get()};
  const Values results = execute(op, args);
  CHECK(static_cast<RawTensor&>(*results[0]).shape == x->shape);
  return static_cast<RawTensor&>(*results[0]).as<float>()[x->count - 1];
}

bool has_plan(const Op& op, const Ref<RawTensor>& x) {
  const Array* inputs[] = {x.get()};
  return is_planned(op, inputs);
}

void test_kernels_are_replaced(OpClass& cls) {
  const Ref<Op> op = make_op(cls, {});
  const Ref<RawTensor> x = ones(5);
  CHECK(!has_plan(*op, x));
  for (int i = 0; i < 4; ++i) CHECK(first_of(*op, x) == 2);
  CHECK(has_plan(*op, x));
  cls.set_kernel(0, KernelRule(multiplied<3>));
  CHECK(!has_plan(*op, x));
  for (int i = 0; i < 4; ++i) CHECK(first_of(*op, x) == 3);
  CHECK(has_plan(*op, x));
  CHECK(!has_plan(*op, ones(6)));
}

void test_threads_share_an_op(OpClass& cls) {
  const Ref<Op> op = make_op(cls, {});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<Ref<RawTensor>> xs;
      for (int64_t n = 1; n < 100; ++n) xs.push_back(ones(n));
      for (size_t i = 0; i < 20000; ++i) {
        CHECK(first_of(*op, xs[(i * 7 + static_cast<size_t>(t)) % xs.size()]) == 3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main() {
  OpClass& cls = declared();
  test_kernels_are_replaced(cls);
  test_threads_share_an_op(cls);
  return 0;
}
