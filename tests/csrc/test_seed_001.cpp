// Acceptance rows L1 to L5, L9 to L11: the tape of seed 001 as a C++ user has it, without Python.
#include <sstream>

#include "memory/allocator.h"
#include "tape/gradient.h"
#include "tape_support.h"

namespace tensorlike::tape {
namespace {

void test_l1_a_variable_has_a_description_a_value_and_a_gradient() {
  Tape tape;
  const VariableHandle x = variable("x", {1, 2, 3, 4, 5, 6}, {2, 3});
  const VariableHandle w = ones("w", 3, 2);
  const VariableHandle y = tape.AddOp("MatMul", {x, w});
  expect(y->desc().dtype == DType::kFloat32 && y->desc().shape == Dims({2, 2}), "L1: inferred");
  expect(tape.ops().size() == 1 && tape.ops()[0].type() == "MatMul", "L1: the tape holds the op");
  const OpHandle& op = tape.ops()[0];
  expect(op.inputs.size() == 2 && op.outputs.size() == 1, "L1: slots");
  expect(op.input("a").operands[0].desc->name == "x", "L1: an input by its slot");
  expect(op.input("b").operands[0].desc->name == "w", "L1: the other input");
  expect(op.output("y").operands[0].desc->name == y->name(), "L1: the output");
  const VariableHandle s = tape.AddOp("sum", {y}, {{"axis", 1}, {"keepdims", true}});
  const Attributes attributes = tape.ops()[1].attributes();
  expect(attributes[1].first == "axis" && std::get<int64_t>(attributes[1].second) == 1,
         "L1: attributes");
  expect(s->elements<float>() == std::vector<float>({12, 30}), "L1: the value");
  expect(w->Grad()->is_empty(), "L1: no gradient before Backward");
  tape.Backward(tape.AddOp("sum", {s}));
  expect(w->Grad()->elements<float>() == std::vector<float>({5, 5, 7, 7, 9, 9}), "L1: Grad()");
}

void test_l1_variables_by_slot_as_in_the_seed() {
  Tape tape;
  const VariableHandle x = ones("x", 2, 3);
  const VariableHandle w = ones("w", 3, 4);
  const VariableHandle out(new Variable("linear"));
  tape.AddOp("matmul", {{"a", {x}}, {"b", {w}}}, {{"y", {out}}}, {});
  expect(out->desc().shape == Dims({2, 4}) && out->name() == "linear", "L1: a result by slot");
  expect(tape.ops()[0].output("y").operands[0].desc->name == "linear", "L1: named by the user");
  expect(out->elements<float>() == std::vector<float>(8, 3.0F), "L1: filled by Forward");
  expect_error(error_of([&] { tape.AddOp("matmul", {{"X", {x}}, {"b", {w}}}, {}, {}); }),
               "MatMul: its input slots are a, b; got X, b.", "L1: an unknown slot");
}

void test_l2_bad_shapes_are_refused_when_an_op_is_added() {
  Tape tape;
  const VariableHandle x = ones("input", 2, 3);
  const VariableHandle w = ones("weight", 4, 2);
  expect_error(
      error_of([&] { tape.AddOp("MatMul", {x, w}); }),
      "MatMul: a.shape[-1] must equal b.shape[-2]; got a.shape=(2, 3), b.shape=(4, 2); added "
      "to the tape with a='input' float32(2, 3), b='weight' float32(4, 2).",
      "L2: the op and the slots are named");
  expect(tape.ops().empty() && tape.position() == 0, "L2: nothing was added");
  expect_error(error_of([&] { tape.AddOp("MatMull", {x, w}); }),
               "AddOp: the type must be a declared op or function; got 'MatMull'.",
               "L2: an unknown op");
  expect_error(error_of([&] { tape.AddOp("softmax", {x}, {{"axes", 1}}); }),
               "softmax: it has no attribute 'axes'.", "L2: an unknown attribute");
  const VariableHandle empty(new Variable("label"));
  expect_error(error_of([&] { tape.AddOp("relu", {empty}); }),
               "variable: 'label' must have a shape and a dtype; got an empty one; fill it, or put "
               "an op's result into it, before it is read.",
               "L2: an empty variable");
  expect_error(error_of([&] { tape.AddOp("add", {x, VariableHandle()}); }),
               "add: a variable must be given; got a null handle.", "L2: a null handle");
  expect(error_of([&] { tape.AddOp("add", {x}); }).starts_with("add: "), "L2: too few variables");
  expect(error_of([&] { tape.AddOp("add", {}); }).starts_with("add: "), "L2: no variables");
  const size_t before = memory_stats().allocated;
  const VariableHandle y = tape.AddOp("MatMul", {x, ones("right", 3, 2)});
  expect(tape.position() == 0 && memory_stats().allocated - before < 200, "L2: nothing runs");
}

void test_l2_a_place_can_be_filled_after_ops_were_added() {
  Tape tape;
  const VariableHandle x(new Variable("x", Spec{DType::kFloat32, {2}}));
  const VariableHandle loss = tape.AddOp("sum", {tape.AddOp("square", {x})});
  expect(loss->desc().shape.empty(), "L2: inferred from the place");
  expect(error_of([&] { tape.Forward(); }).starts_with("value: the elements of 'x' must be known"),
         "L2: nothing fills it");
  expect_error(error_of([&] { x->set_value(make_tensor<float>({1}, {1})); }),
               "variable: 'x' was declared as float32(2,); got float32(1,); fill it with what was "
               "declared.",
               "L2: filled with something else");
  x->set_value(make_tensor<float>({3, 4}, {2}));
  expect(loss->item() == 25, "L2: the ops see what it is filled with");
  tape.Backward(loss);
  expect(x->Grad()->elements<float>() == std::vector<float>({6, 8}), "L2: and its gradient");
}

void test_l3_forward_continues_and_never_repeats() {
  Tape tape;
  const VariableHandle x = ones("x", 1, 1);
  const VariableHandle drawn =
      tape.AddOp("random_draw", {}, {{"shape", std::vector<int64_t>{1, 1}}, {"key", 7}});
  const VariableHandle y = tape.AddOp("add", {x, drawn});
  const VariableHandle z = tape.AddOp("exp", {y});
  const double first = y->item();
  expect(tape.position() == 2, "L3: value() runs up to what is needed");
  const auto* memory = y->value()->data;
  tape.Forward();
  expect(tape.position() == 3, "L3: Forward runs the rest");
  expect(y->value()->data == memory && y->item() == first, "L3: nothing runs twice");
  expect_near(z->item(), std::exp(first), 1e-5, "L3: the rest is right");
  const VariableHandle u = tape.AddOp("log", {z});
  tape.Forward();
  tape.Forward();
  expect(tape.position() == 4, "L3: ops can follow");
  expect_near(u->item(), first, 1e-5, "L3: and continue from there");
  VariableHandle lost;
  {
    Tape other;
    lost = other.AddOp("exp", {x});
  }
  expect(error_of([&] { lost->value(); }).starts_with("value: the elements of 'exp_0' must be"),
         "L3: what a tape that is gone has not computed is told");
}

void test_l4_gradients_add_up_and_unused_variables_have_none() {
  Tape tape;
  const VariableHandle x = variable("x", {1, 2, 3}, {3});
  const VariableHandle unused = variable("unused", {1, 2, 3}, {3});
  const VariableHandle product = tape.AddOp("multiply", {x, x});
  const VariableHandle loss = tape.AddOp("sum", {tape.AddOp("add", {product, x})});
  tape.AddOp("exp", {unused});
  tape.Backward(loss);
  expect(tape.position() == 4, "L4: Backward completes Forward");
  expect(tape.backward_tape() != nullptr && !tape.backward_tape()->ops().empty() &&
             tape.backward_tape()->position() == tape.backward_tape()->ops().size(),
         "L4: the backward tape is a tape, and has run");
  expect(x->Grad()->elements<float>() == std::vector<float>({3, 5, 7}), "L4: the sum");
  expect(unused->Grad()->is_empty(), "L4: an unused variable has an empty gradient");
  expect_error(error_of([&] { tape.Backward(loss); }),
               "Backward: a tape runs backward once; got a second time; start a new one: "
               "reset_global_tape().",
               "L4: a second Backward");
  Tape other;
  const VariableHandle vector = other.AddOp("multiply", {x, x});
  expect(error_of([&] {
           other.Backward(vector);
         }).starts_with("Backward: the loss must have one element; 'multiply_0' has the shape"),
         "L4: the loss has one element");
  expect(error_of([&] { other.Backward(x); }).starts_with("Backward: the loss must follow from"),
         "L4: the loss is of this tape");
}

void test_l4_a_value_that_changes_between_uses() {
  Tape tape;
  const VariableHandle w = variable("w", {2}, {1});
  const VariableHandle x = variable("x", {5}, {1});
  const VariableHandle a = tape.AddOp("multiply", {w, w});
  w->set_value(make_tensor<float>({10}, {1}));
  const VariableHandle b = tape.AddOp("multiply", {w, x});
  const VariableHandle loss = tape.AddOp("sum", {tape.AddOp("add", {a, b})});
  expect(loss->item() == 54, "L4: an op reads the value of when it was added");
  tape.Backward(loss);
  expect(w->Grad()->item() == 4 + 5, "L4: and so does its gradient");
  expect(x->Grad()->item() == 10, "L4: of the value after");
}

void test_l4_results_have_gradients_when_asked() {
  for (const bool is_asked : {false, true}) {
    Tape tape;
    const VariableHandle x = variable("x", {1, 2}, {2});
    const VariableHandle y = tape.AddOp("multiply", {x, x});
    const VariableHandle z = tape.AddOp("multiply", {y, x});
    if (is_asked) tape.KeepGrad(y);
    tape.Backward(tape.AddOp("sum", {z}));
    expect(x->Grad()->elements<float>() == std::vector<float>({3, 12}), "L4: the leaf");
    expect(y->Grad()->is_empty() == !is_asked, "L4: a result only when asked");
    if (is_asked) {
      expect(y->Grad()->elements<float>() == std::vector<float>({1, 2}), "L4: a result");
      expect(error_of([&] { tape.KeepGrad(x); }).starts_with("KeepGrad: the variable must be a"),
             "L4: leaves have gradients anyway");
    }
  }
}

void test_l5_tapes_are_independent() {
  const VariableHandle x = ones("x", 2, 2);
  Tape& first = get_global_tape();
  const VariableHandle y = first.AddOp("exp", {x});
  Tape own;
  const VariableHandle inner = own.AddOp("add", {x, x});
  const VariableHandle across = own.AddOp("multiply", {inner, y});
  expect(first.ops().size() == 1 && own.ops().size() == 2, "L5: each tape has its ops");
  own.Forward();
  expect(first.position() == 1, "L5: a tape that needs another one's value lets it run");
  own.Backward(own.AddOp("sum", {across}));
  expect_near(y->Grad()->elements<float>()[0], 2, 0, "L5: differentiation ends at the tape");
  expect(!x->Grad()->is_empty(), "L5: and gives the leaves gradients");
  reset_global_tape();
  expect(get_global_tape().ops().empty(), "L5: a new global tape is empty");
  VariableHandle kept;
  {
    Tape brief;
    brief.Backward(brief.AddOp("sum", {x}));
    kept = x->Grad();
  }
  expect(x->Grad()->is_empty() && kept->elements<float>()[0] == 1,
         "L5: gradients belong to their tape, unless they are held");
}

void test_l9_control_flow_is_the_host_languages() {
  Tape tape;
  const VariableHandle x = variable("x", {1.5F}, {1});
  VariableHandle y = x;
  int turns = 0;
  while (y->item() < 100) {
    y = turns % 2 == 0 ? VariableHandle(tape.AddOp("square", {y}))
                       : VariableHandle(tape.AddOp("multiply", {y, x}));
    ++turns;
  }
  // ((((x^2) x)^2) x)^2 = x^14
  expect(turns == 5 && tape.ops().size() == 5, "L9: a loop that asks for values");
  tape.Backward(tape.AddOp("sum", {y}));
  expect_near(x->Grad()->item() / (14 * std::pow(1.5, 13)), 1, 1e-5, "L9: its gradient");
}

void test_l10_functional_calls_and_rules_work_on_variables() {
  reset_global_tape();
  const VariableHandle x = variable("x", {1, 2, 3, 4}, {2, 2});
  const Ref<tensorlike::Value> y = call("logsumexp", {x.get()});
  expect(get_global_tape().ops().size() == 1, "L10: a functional call adds to the global tape");
  const VariableHandle loss(static_cast<Variable*>(y.get()));
  get_global_tape().Backward(loss);
  const std::vector<float> found = x->Grad()->elements<float>();
  expect_near(found[0] + found[1] + found[2] + found[3], 1, 1e-6, "L10: its gradient");
  Tape tape;
  const VariableHandle v = variable("v", {3, -1, 4, -2}, {4});
  const VariableHandle zero = variable("zero", {0}, {1});
  const VariableHandle kept = tape.AddOp("MaskedSelect", {v, tape.AddOp("greater", {v, zero})});
  expect(kept->desc().shape == Dims({2}) && tape.position() == 2,
         "L10: where a shape depends on elements, the tape runs");
  tape.Backward(tape.AddOp("sum", {tape.AddOp("square", {kept})}));
  expect(v->Grad()->elements<float>() == std::vector<float>({6, 0, 8, 0}), "L10: and its gradient");
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

void test_l11_the_tapes_are_a_graph() {
  reset_global_tape();
  const Linear linear(2, 3, "relu");
  const VariableHandle x = ones("a {strange} \"name\"", 1, 2);
  const VariableHandle loss = Mean()(linear(x));
  Tape& tape = get_global_tape();
  const std::string forward = tape.to_dot();
  expect(tape.position() == 0, "L11: drawing runs nothing");
  expect(count(forward, "cluster_") == 1 && count(forward, "{type: ") == 4, "L11: forward tape");
  tape.Backward(loss);
  const std::string dot = tape.to_dot();
  expect(count(dot, "label=\"forward tape\"") == 1 && count(dot, "label=\"backward tape\"") == 1,
         "L11: both tapes");
  expect(count(dot,
               "[label=\"{type: MatMul | {input | {<i0> a: a\\ \\{strange\\}\\ "
               "\\\"name\\\" | <i1> b: weight1}} | {output | {<o0> y: "
               "MatMul_0}}}\"];") == 1,
         "L11: a record with its slots: " + dot);
  expect(count(dot, "[label=\"Grad()\", style=dashed]") == 3, "L11: an edge to each gradient");
  expect(count(dot, "weight1_grad") == 2, "L11: a gradient as a result and as a variable");
  const size_t opening = count(dot, "{") - count(dot, "\\{");
  expect(opening == count(dot, "}") - count(dot, "\\}"), "L11: braces match");
}

void test_values_print() {
  std::ostringstream out;
  out << variable("x", {1, 2.5F, -3, 4}, {2, 2})->value();
  expect(out.str() == "[[1, 2.5], [-3, 4]]", "values print: " + out.str());
}

}  // namespace
}  // namespace tensorlike::tape

int main() {
  using namespace tensorlike::tape;
  test_l1_a_variable_has_a_description_a_value_and_a_gradient();
  test_l1_variables_by_slot_as_in_the_seed();
  test_l2_bad_shapes_are_refused_when_an_op_is_added();
  test_l2_a_place_can_be_filled_after_ops_were_added();
  test_l3_forward_continues_and_never_repeats();
  test_l4_gradients_add_up_and_unused_variables_have_none();
  test_l4_a_value_that_changes_between_uses();
  test_l4_results_have_gradients_when_asked();
  test_l5_tapes_are_independent();
  test_l9_control_flow_is_the_host_languages();
  test_l10_functional_calls_and_rules_work_on_variables();
  test_l11_the_tapes_are_a_graph();
  test_values_print();
  return report();
}
