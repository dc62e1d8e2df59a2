// An op whose kernel a shared library has, in a program without Python.
#include "op/registry.h"
#include "tape_support.h"
#include "tensor/library.h"

namespace tensorlike::tape {
namespace {

OpSpec doubled() {
  OpSpec spec;
  spec.name = "Doubled";
  spec.args = {{"x", Category::kRealFloating}};
  spec.kernel = "doubled";
  spec.grads = std::vector<Grad>{{0, Body{3, {}, {{"doubled", {2}}}, {3}}}};  // of x, y and dy
  spec.memory.contiguous = 1;
  return spec;
}

void test_an_op_of_a_library_is_recorded_and_differentiated() {
  const OpSpec spec = doubled();
  registry().add(spec, library_rules(spec, LIBRARY));
  registry().add(FunctionSpec{"doubled", "Doubled", {}, spec.args});
  registry().link();
  Tape tape;
  const VariableHandle x = variable("x", {1, 2, 3}, {3});
  const VariableHandle y = tape.AddOp("sum", {tape.AddOp("doubled", {x})[0]})[0];
  tape.Backward(y);
  expect_near(y->item(), 12, 0, "its value");
  expect_near(tape.AddOp("sum", {x->Grad()})[0]->item(), 6, 0, "its gradient");
  const VariableHandle wrong = variable("x", {-1}, {1});
  expect(error_of([&] {
           tape.AddOp("doubled", {wrong})[0]->item();
         }).starts_with("Doubled: x must not begin with -1"),
         "its error");
}

void test_what_is_no_library_is_refused() {
  expect(error_of([] {
           library_rules(doubled(), "/no/such/library.so");
         }).starts_with("declare: library must be a shared library that loads; got "),
         "no file");
}

}  // namespace
}  // namespace tensorlike::tape

int main() {
  tensorlike::tape::test_an_op_of_a_library_is_recorded_and_differentiated();
  tensorlike::tape::test_what_is_no_library_is_refused();
  return tensorlike::tape::report();
}
