// Programs without Python: recorded, bound to sizes, run, printed and drawn.
#include "op/registry.h"
#include "program/dot.h"
#include "program/program.h"
#include "program/stretch.h"
#include "tape_support.h"
#include "tensor/raw_tensor.h"

namespace tensorlike::tape {
namespace {

const Program::Dimension kBatch{kUnknownSize, "batch"};

Ref<Op> op(const std::string& type, Attributes attributes = {}) {
  return op_by_name(type, std::move(attributes));
}

Ref<RawTensor> ones_of(int64_t rows, int64_t columns) {
  return make_tensor(std::vector<float>(static_cast<size_t>(rows * columns), 1.0F),
                     {rows, columns});
}

// relu(x @ w), seen as (batch * 2,), as a rule makes the shape: of the sizes that it was given.
struct Recorded {
  Ref<Program> program = make_ref<Program>();
  int x, flat;

  Recorded() {
    x = program->add_input("x", DType::kFloat32, std::vector<Program::Dimension>{kBatch, {3, {}}});
    const Ref<RawTensor> weight = ones_of(3, 2);
    const int w = program->capture(weight, weight->spec(), "RawTensor", "w");
    const std::vector<int> product = program->append(*op("matmul"), std::vector<int>{x, w}, "a:1");
    const std::vector<int> relu = program->append(*op("relu"), product, "a:2");
    const int64_t batch = program->variables()[static_cast<size_t>(x)].spec.shape[0];
    flat = program->append(*op("reshape", {{"shape", std::vector<int64_t>{batch * 2}}}), relu,
                           "a:3")[0];
  }
};

void test_a_program_is_bound_to_sizes_and_run() {
  const Recorded recorded;
  for (int64_t batch : {1, 4, 0}) {
    const Ref<RawTensor> x = ones_of(batch, 3);
    Value* given[] = {x.get()};
    const Values found = recorded.program->run(std::vector<int>{recorded.flat}, given);
    const auto& y = static_cast<const RawTensor&>(*found[0]);
    expect(y.shape == Dims({batch * 2}), "the shape follows from the size");
    for (int64_t i = 0; i < batch * 2; ++i) expect(y.as<float>()[i] == 3.0F, "the values");
  }
  const auto first = recorded.program->bind({5});
  expect(first == recorded.program->bind({5}), "the same sizes are bound once");
  expect(first->specs.back().shape == Dims({10}), "shapes of all variables are known then");
}

void test_a_stretch_runs_what_lies_between() {
  const Recorded recorded;
  const int product = recorded.program->steps()[0].outputs[0];
  Stretch part(recorded.program, {product}, {recorded.flat, product});
  for (int64_t batch : {2, 0}) {
    const Ref<RawTensor> given = ones_of(batch, 2);
    Value* values[] = {given.get()};
    const Values found = part.run(values);
    const auto& y = static_cast<const RawTensor&>(*found[0]);
    expect(y.shape == Dims({batch * 2}), "the sizes follow from what is given");
    expect(found[1].get() == given.get(), "what is given may be asked for");
    const Spec spec = given->spec();
    expect(part.infer({&spec, 1})[0].shape == y.shape, "shapes are known without running");
  }
  // Steps that are added later change nothing.
  const int more = recorded.program->append(*op("relu"), std::vector<int>{recorded.flat}, "b:1")[0];
  const Ref<RawTensor> given = ones_of(1, 2);
  Value* values[] = {given.get()};
  expect(part.run(values).size() == 2, "the same results as before");
  Stretch longer(recorded.program, {product}, {more});
  expect(longer.run(values).size() == 1, "and the new ones");
  expect_error(error_of([&] { Stretch(recorded.program, {}, {product}); }),
               "program: x must be given, since results depend on it", "an input that is missing");
}

void test_a_program_is_printed_and_drawn() {
  const Recorded recorded;
  expect(recorded.program->text() ==
             "x: float32(batch, 3)\n"
             "w: float32(3, 2)  # captured RawTensor\n"
             "_1 = MatMul()(x, w)  # float32(batch, 2)\n"
             "_2 = Elemwise(mode='relu')(_1)  # float32(batch, 2)\n"
             "_3 = Reshape(shape=(2 * batch,), copy=None)(_2)  # float32(None,)",
         "printed: " + recorded.program->text());
  Picture picture;
  picture.add(*recorded.program, "a program");
  const std::string dot = picture.text();
  expect(dot.find("{type: MatMul | {input | {<i0> a: x | <i1> b: w}} | {output | {<o0> y: _1}}}") !=
             std::string::npos,
         "drawn: " + dot);
}

void test_wrong_inputs_and_sizes_are_refused() {
  const Recorded recorded;
  const Ref<RawTensor> wide = ones_of(2, 4);
  Value* given[] = {wide.get()};
  expect_error(error_of([&] { recorded.program->run(std::vector<int>{recorded.flat}, given); }),
               "run: x must have the shape (batch, 3); got (2, 4).", "another shape");
  Program program;
  const int x =
      program.add_input("x", DType::kFloat32, std::vector<Program::Dimension>{kBatch, {3, {}}});
  const int y = program.add_input("y", DType::kFloat32,
                                  std::vector<Program::Dimension>{{kUnknownSize, {}}, {3, {}}});
  expect_error(
      error_of([&] { program.append(*op("add"), std::vector<int>{x, y}, ""); }),
      "add: shapes must broadcast; got (batch, 3) and (y.shape[0], 3); each dimension must "
      "be equal, or one of them 1; sizes of inputs are equal by name: give batch and y.shape[0] "
      "the same one.",
      "unknown sizes are equal by name alone");
  expect(program.steps().empty(), "nothing was added");
  const int rows =
      program.append(*op("max", {{"axis", int64_t{0}}}), std::vector<int>{x}, "b:7")[0];
  expect(rows == 2, "variables are numbered in order");
  expect_error(error_of([&] { program.bind({0, 1}); }),
               "max: an empty axis has no max; got x.shape=(0, 3), axis=0; applied at b:7.",
               "the line of what does not go together");
}

void test_witnesses_are_given_back() {
  const int before = live_witnesses;
  {
    const Recorded one, other;
    expect(live_witnesses == before + 2, "each unknown size has its own");
    expect(program_of(one.program->variables()[0].spec.shape[0]) == one.program.get(), "whose");
  }
  expect(live_witnesses == before, "they end with the program");
}

void test_usual_numbers_are_near_no_witness() {
  Program program;
  for (int i = 0; i < 8; ++i) {
    program.add_input("x", DType::kFloat32, std::vector<Program::Dimension>(1));
  }
  for (int64_t number = 4096; number <= int64_t{1} << 40; number *= 2) {
    for (int64_t usual : {number, 3 * number}) {
      expect(program_of(usual) == nullptr, text("a power of two: ", usual));
    }
  }
  for (int64_t usual : {50'257, 30'522, 32'000, 128'256, 300'000, 1'000'000}) {
    expect(program_of(usual) == nullptr, text("a usual number: ", usual));
  }
}

}  // namespace
}  // namespace tensorlike::tape

int main() {
  tensorlike::tape::test_a_program_is_bound_to_sizes_and_run();
  tensorlike::tape::test_a_stretch_runs_what_lies_between();
  tensorlike::tape::test_a_program_is_printed_and_drawn();
  tensorlike::tape::test_wrong_inputs_and_sizes_are_refused();
  tensorlike::tape::test_witnesses_are_given_back();
  tensorlike::tape::test_usual_numbers_are_near_no_witness();
  return tensorlike::tape::report();
}
