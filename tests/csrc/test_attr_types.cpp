// Every type of the table of attributes, from a C++ program: which forms an op takes, which become
// others, and what it says of the rest.
#include <algorithm>
#include <cmath>
#include <limits>

#include "op/registry.h"
#include "tape_support.h"

namespace tensorlike::tape {
namespace {

// A value of each form.
const std::vector<Attr> kValues = {
    Nothing{},
    true,
    int64_t{3},
    0.5,
    std::string("no dtype"),
    std::vector<int64_t>{0, 1},
    DType::kFloat32,
    std::complex<double>(0, 1),
    std::numeric_limits<uint64_t>::max(),
};

const OpClass& holder(const AttrType& type) {
  const std::string name = "Hold_" + std::string(type.name);
  if (const OpClass* known = registry().find_op(name)) return *known;
  OpSpec spec;
  spec.name = name;
  spec.args = {{"x", Category::kAll}};
  spec.attrs = {{"value", &type, true, {}}};
  spec.define = Body{1, {}, {}, {0}};
  registry().add(spec);
  registry().link();
  return *registry().find_op(name);
}

Attr made(const AttrType& type, Attr value) {
  return make_op(holder(type), {{"value", std::move(value)}})->attrs[0];
}

std::string said_of(const AttrType& type, const Attr& value) {
  return error_of([&] { made(type, value); });
}

void test_each_form_is_held_or_refused() {
  for (const AttrType& type : attr_types()) {
    const std::string what = "attributes of type " + std::string(type.name) + ": ";
    for (const Attr& value : kValues) {
      const bool is_int = form_of(value) == Form::kInt;
      const bool stands_for =
          is_int && (type.holds.has(Form::kFloat) || type.takes.has(Form::kInt));
      const std::string wanted = type.holds.has(form_of(value)) || stands_for
                                     ? "nothing was thrown"
                                     : "Hold_" + std::string(type.name) +
                                           ": value must be of type " + std::string(type.called) +
                                           "; got " + to_string(value) + ".";
      expect_error(said_of(type, value), wanted, what + to_string(value));
    }
    for (const Attr& example : type.examples) {
      expect(type.holds.has(form_of(made(type, example))), what + "the example is held");
    }
  }
}

void test_one_form_stands_for_another() {
  expect(made(*attr_type("float"), int64_t{3}) == Attr(3.0), "an integer is a number");
  for (const char* name : {"axes", "shape", "sizes", "widths", "permutation", "padding"}) {
    expect(made(*attr_type(name), int64_t{3}) == Attr(std::vector<int64_t>{3}),
           std::string("an integer is the list of it alone: ") + name);
  }
  expect(made(*attr_type("axis"), int64_t{3}) == Attr(int64_t{3}), "an axis stays one");
  for (const DTypeInfo& dtype : kDTypes) {
    const Attr found = made(*attr_type("dtype"), std::string(dtype.name));
    expect(to_string(found) == dtype.name, "a dtype by its name: " + std::string(dtype.name));
  }
  const Attr nan = made(*attr_type("float"), std::numeric_limits<double>::quiet_NaN());
  expect(std::isnan(std::get<double>(nan)), "nan is a number");
}

void test_a_type_that_is_not_there_is_refused() {
  expect_error(error_of([] { attr_type("axles"); }), "there is no type 'axles' of attributes.",
               "an unknown type");
  for (const AttrType& type : attr_types()) {
    expect(attr_type(type.name) == &type, "a row is found by its name");
  }
}

void test_calls_by_name_take_what_their_types_say() {
  Tape tape;
  const VariableHandle x = ones("x", 2, 3);
  const VariableHandle y = tape.AddOp("sum", {x}, {{"axis", 1}, {"dtype", "float64"}});
  expect(y->desc().dtype == DType::kFloat64 && y->desc().shape == Dims({2}), "a sum in float64");
  expect_error(error_of([&] { Tape().AddOp("sum", {x}, {{"keepdims", 1}}); }),
               "Reduce: keepdims must be of type bool; got 1.", "an integer is no boolean");
  expect_error(error_of([&] { Tape().AddOp("sum", {x}, {{"dtype", "float7"}}); }),
               "Reduce: dtype must be of type dtype; got 'float7'.", "no dtype");
}

}  // namespace
}  // namespace tensorlike::tape

int main() {
  using namespace tensorlike::tape;
  test_each_form_is_held_or_refused();
  test_one_form_stands_for_another();
  test_a_type_that_is_not_there_is_refused();
  test_calls_by_name_take_what_their_types_say();
  return report();
}
