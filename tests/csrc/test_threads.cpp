// Tests threads that differentiate at once, without a lock around them: each has its own leaves and
// shares tensors that nobody writes to. All of them use every op for the first time at the same
// moment, since what is kept between calls is made then.
#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/late.h"
#include "base/pool.h"
#include "tape/gradient.h"
#include "tape_support.h"

namespace tensorlike {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 5;

Ref<RawTensor> ramp(Dims shape) {
  Ref<RawTensor> made = RawTensor::empty(DType::kFloat32, std::move(shape));
  for (int64_t i = 0; i < made->count; ++i) {
    made->as<float>()[i] = 0.5F + 1e-3F * static_cast<float>(i * 7 % 1000);
  }
  return made;
}

Ref<RawTensor> labels(int64_t n) {
  Ref<RawTensor> made = RawTensor::empty(DType::kInt64, {n});
  for (int64_t i = 0; i < n; ++i) made->as<int64_t>()[i] = i % 3;
  return made;
}

using Program = std::function<Ref<Value>(Value& leaf, Value& shared)>;

// The gradient by a fresh leaf.
std::vector<float> gradient_of(const Program& program, Value& shared) {
  const Ref<Tracer> leaf = make_leaf(ramp({24, 24}), Ref<Tape>(&base_tape()));
  const Ref<Value> loss = call("sum", {program(*leaf, shared).get()});
  auto* root = static_cast<Tracer*>(loss.get());
  const Edge edges[] = {root->edge};
  backward(base_tape(), edges, {Ref<Value>(RawTensor::scalar(DType::kFloat32, 1.0))}, {},
           [](const Edge& edge, const Ref<Value>& value) { edge.node->accumulator->add(value); });
  const Ref<RawTensor> gradient = contiguous(static_cast<RawTensor&>(*leaf->accumulator->gradient));
  return {gradient->as<float>(), gradient->as<float>() + gradient->count};
}

const std::vector<std::pair<std::string, Program>> kPrograms = {
    {"matmul", [](Value& x, Value& y) { return call("tanh", {call("matmul", {&x, &y}).get()}); }},
    {"broadcasting",
     [](Value& x, Value& y) {
       const Ref<Value> mean = call("mean", {&y}, {{"axis", int64_t{0}}});
       return call("gelu", {call("divide", {&x, mean.get()}).get()});
     }},
    {"softmax",
     [](Value& x, Value& y) { return call("multiply", {call("softmax", {&x}).get(), &y}); }},
    {"cross entropy",
     [](Value& x, Value&) { return call("cross_entropy_mean", {&x, labels(24).get()}); }},
    {"sorting",
     [](Value& x, Value& y) { return call("multiply", {call("sort", {&x}).get(), &y}); }},
    {"running sums",
     [](Value& x, Value&) { return call("cumulative_sum", {&x}, {{"axis", int64_t{1}}}); }},
    {"the largest", [](Value& x, Value&) { return call("max", {&x}, {{"axis", int64_t{0}}}); }},
    {"powers", [](Value& x, Value& y) { return call("pow", {&x, &y}); }},
};

void test_threads_differentiate_at_once() {
  const Ref<RawTensor> shared = ramp({24, 24});
  for (const auto& [name, program] : kPrograms) {
    std::vector<std::vector<float>> first(kThreads);
    std::barrier start(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        start.arrive_and_wait();
        first[static_cast<size_t>(t)] = gradient_of(program, *shared);
        for (int round = 1; round < kRounds; ++round) {
          const bool is_same = gradient_of(program, *shared) == first[static_cast<size_t>(t)];
          tape::expect(is_same, name + " is the same each time");
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    const std::vector<float> wanted = gradient_of(program, *shared);
    for (const auto& found : first) tape::expect(found == wanted, name + " in a thread");
  }
}

// Shapes of as many elements, which compete for one place among those that are kept.
void test_threads_write_down_shapes_of_their_own() {
  std::vector<std::thread> threads;
  for (int64_t t = 1; t <= kThreads; ++t) {
    threads.emplace_back([t] {
      const Dims shape{t, 12 / t};
      for (int round = 0; round < 1000; ++round) {
        const Ref<Tracer> leaf = make_leaf(ramp(shape), Ref<Tape>(&base_tape()));
        const Ref<Value> made = call("exp", {leaf.get()});
        const Node& node = *static_cast<Tracer&>(*made).edge.node;
        const bool is_it = node.input_spec(0).shape == shape && node.outputs()[0].shape == shape;
        tape::expect(is_it, "a shape that a thread writes down");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Loops long enough for the pool, which works for one thread at a time.
void test_threads_share_the_pool() {
  const Ref<RawTensor> x = ramp({400, 400});
  const Ref<Value> wanted = call("exp", {call("matmul", {x.get(), x.get()}).get()});
  const size_t bytes = static_cast<size_t>(x->count) * sizeof(float);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        const Ref<Value> found = call("exp", {call("matmul", {x.get(), x.get()}).get()});
        const int order = std::memcmp(static_cast<RawTensor&>(*found).data,
                                      static_cast<RawTensor&>(*wanted).data, bytes);
        tape::expect(order == 0, "long loops in threads");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A step of training in each thread, by a tape of its own.
void test_threads_train_by_tapes_of_their_own() {
  std::vector<float> losses(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const tape::Linear layer(8, 3, "tanh", tape::constant(0.1), tape::constant(0.01));
      tape::Adam adam(0.5);
      for (int round = 0; round < kRounds; ++round) {
        tape::reset_global_tape();
        const auto x = tape::variable("x", std::vector<float>(32, 0.5F), {4, 8});
        const tape::VariableHandle label(new tape::Variable("label"));
        tape::Fill({tape::make_tensor<int64_t>({0, 1, 2, 0}, {4})}, 4)(label);
        const tape::VariableHandle loss = tape::softmax(layer(x), label);
        tape::get_global_tape().Backward(loss);
        adam(layer.Params());
        losses[static_cast<size_t>(t)] = static_cast<float>(loss->item());
      }
      tape::reset_global_tape();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const float loss : losses) tape::expect(loss == losses[0], "training in a thread");
}

// What threads ask for at once is made once; making that fails is tried again.
void test_late_values_are_made_once() {
  std::atomic<int> times = 0;
  const Late<std::string> late([&] {
    if (++times == 1) fail(ErrorKind::kArgument, "not yet");
    return std::string("made");
  });
  const Late<std::string> copy = late;
  try {
    *late;
    tape::expect(false, "an error comes through");
  } catch (const Error&) {
  }
  std::vector<std::thread> threads;
  std::vector<const std::string*> found(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] { found[static_cast<size_t>(t)] = t % 2 == 0 ? &*late : &*copy; });
  }
  for (std::thread& thread : threads) thread.join();
  tape::expect(times == 2 && *late == "made", "made at the second try, and then no more");
  for (const std::string* each : found) tape::expect(each == found[0], "the same for all");
  tape::expect(!Late<std::string>() && Late<std::string>()->empty(), "nothing");
}

}  // namespace
}  // namespace tensorlike

int main() {
  using namespace tensorlike;
  set_num_threads(2);
  test_threads_differentiate_at_once();
  test_threads_write_down_shapes_of_their_own();
  test_threads_share_the_pool();
  test_threads_train_by_tapes_of_their_own();
  test_late_values_are_made_once();
  return tape::report();
}
