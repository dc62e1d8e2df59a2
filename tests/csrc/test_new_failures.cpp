// Tests what happens when `operator new` has nothing to give, at its first call, its second and so
// on: an exception, nothing half done, and the right result the next time. The operator of this
// program takes the place of the library's.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>

#include "base/place.h"
#include "engine/engine.h"
#include "memory/allocator.h"
#include "op/registry.h"
#include "tape/forward.h"
#include "tape/gradient.h"
#include "tape_support.h"

namespace {

std::atomic<int64_t> left{-1};  // calls until the one that fails; negative: none does

bool is_failing() {
  if (left.load(std::memory_order_relaxed) < 0) return false;
  return left.fetch_sub(1, std::memory_order_relaxed) == 0;
}

void* take(size_t size) {
  if (is_failing()) return nullptr;
  return std::malloc(size == 0 ? 1 : size);
}

}  // namespace

void* operator new(size_t size) {
  void* found = take(size);
  if (found == nullptr) throw std::bad_alloc();
  return found;
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return take(size); }
// Inlined alone, a delete would seem to free what another allocator gave.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace tensorlike {
namespace {

void expect(bool holds, const std::string& what, int64_t at) {
  tape::expect(holds, what + " (call " + std::to_string(at) + ")");
}

Ref<RawTensor> ramp(int64_t n) {
  Ref<RawTensor> made = RawTensor::empty(DType::kFloat32, {n, n});
  for (int64_t i = 0; i < made->count; ++i) {
    made->as<float>()[i] = 0.5F + 1e-3F * static_cast<float>(i % 100);
  }
  return made;
}

float first_of(const Ref<Value>& value) {
  Value* found = value.get();
  while (found->tag == Value::kTracer) found = static_cast<Tracer*>(found)->primal.get();
  const auto& raw = *static_cast<RawTensor*>(found);
  raw.ready("the test");
  return raw.as<float>()[0];
}

float forward() {
  const Ref<RawTensor> x = ramp(32);
  const Ref<Value> y = call("exp", {call("matmul", {x.get(), x.get()}).get()});
  const Ref<Value> z = call("add", {y.get(), call("softmax", {x.get()}).get()});
  return first_of(call("sum", {call("sort", {z.get()}, {{"axis", int64_t{0}}}).get()}));
}

// More axes than a shape holds inside itself.
float turned() {
  const Ref<RawTensor> x = RawTensor::empty(DType::kFloat32, {2, 1, 3, 1, 2, 1, 4});
  for (int64_t i = 0; i < x->count; ++i) x->as<float>()[i] = static_cast<float>(i);
  const Ref<Value> y = call("sort", {call("exp", {x.get()}).get()}, {{"axis", int64_t{0}}});
  return first_of(call("add", {y.get(), call("sort", {y.get()}).get()}));
}

// A derivative forward, through a tape of its own.
float pushed() {
  const Function& softmax = *registry().find_function("softmax");
  const Ref<Op> op = softmax.make_op({softmax.spec.attrs[0].fallback});
  const Ref<RawTensor> x = ramp(8);
  Value* const args[] = {x.get()};
  Forward forward;
  push_forward(*op, args, args, forward);
  return first_of(forward.tangents[0]);
}

float trained() {
  const Ref<Tracer> w = make_leaf(ramp(16), Ref<Tape>(&base_tape()));
  const Ref<Value> y = call("tanh", {call("matmul", {w.get(), w.get()}).get()});
  const Ref<Value> loss = call("sum", {call("multiply", {y.get(), w.get()}).get()});
  auto* root = static_cast<Tracer*>(loss.get());
  Values seeds{Ref<Value>(RawTensor::scalar(DType::kFloat32, 1.0))};
  const Edge edges[] = {root->edge};
  backward(base_tape(), edges, std::move(seeds), {},
           [](const Edge& edge, const Ref<Value>& value) { edge.node->accumulator->add(value); });
  return first_of(w->accumulator->gradient);
}

// A step of two layers by the C++ tape: what is kept between steps is made in it.
float stepped() {
  tape::reset_global_tape();
  const tape::Linear first(8, 8, "tanh", tape::constant(0.1), tape::constant(0.01));
  const tape::Linear second(8, 3, "", tape::constant(0.2), tape::constant(0.0));
  const auto x = tape::variable("x", std::vector<float>(32, 0.5F), {4, 8});
  const tape::VariableHandle label(new tape::Variable("label"));
  tape::Fill({tape::make_tensor<int64_t>({0, 1, 2, 0}, {4})}, 4)(label);
  const tape::VariableHandle loss = tape::softmax(second(first(x)), label);
  tape::get_global_tape().Backward(loss);
  tape::Adam adam(0.5);
  adam(first.Params());
  tape::SGD(0.5)(second.Params());
  const float out = first.Params()[0]->elements<float>()[0] +
                    second.Params()[0]->elements<float>()[0] + static_cast<float>(loss->item());
  tape::reset_global_tape();
  return out;
}

void set_mode(EngineMode mode) {
  EngineOptions options;
  options.mode = mode;
  options.threshold = 1;
  set_engine_options(options);
}

// Every call of `operator new` that the program makes fails once.
void fail_at_every_call(const char* name, const std::function<float()>& program, EngineMode mode) {
  set_mode(mode);
  const float want = program();
  finish_all("the test");
  const size_t held = memory_stats().allocated;
  int64_t at = 0;
  for (bool is_over = false; !is_over && at < 100'000; ++at) {
    left = at;
    try {
      const float got = program();
      is_over = left >= 0;
      expect(got == want, name, at);
    } catch (const std::bad_alloc&) {
    } catch (const Error& error) {
      expect(error.kind() == ErrorKind::kMemory, error.what(), at);
    }
    left = -1;
    try {
      finish_all("the test");
    } catch (const Error&) {  // what was queued has failed, and nobody was told
    }
    expect(program() == want, name, at);
    finish_all("the test");
    expect(memory_stats().allocated == held, "memory is held", at);
  }
  std::printf("%s: %lld calls\n", name, static_cast<long long>(at));
  set_mode(EngineMode::kSync);
}

}  // namespace
}  // namespace tensorlike

int main() {
  using namespace tensorlike;
  references_are_guarded = false;
  user_line = [] { return std::string("somewhere/in/a/long/program/model.py:7"); };
  for (const EngineMode mode : {EngineMode::kSync, EngineMode::kLazy, EngineMode::kAsync}) {
    fail_at_every_call("a forward program", forward, mode);
    fail_at_every_call("a program of many axes", turned, mode);
    fail_at_every_call("a derivative forward", pushed, mode);
    fail_at_every_call("a gradient", trained, mode);
    fail_at_every_call("a training step", stepped, mode);
  }
  return tape::report();
}
