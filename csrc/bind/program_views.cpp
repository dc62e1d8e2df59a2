// What is read of programs, for Python.
#include "bind/programs.h"
#include "program/dot.h"

namespace tensorlike::bind {
namespace {

// shape(number) -> a tuple of integers and unknown sizes
PyObject* shape_of_variable(PyObject* self, PyObject* number) {
  return guarded([&] {
    const Program& program = program_in(self);
    const auto& variable = program.variables()[static_cast<size_t>(to_variable(program, number))];
    Object out = own(PyTuple_New(static_cast<Py_ssize_t>(variable.spec.shape.size())));
    for (size_t i = 0; i < variable.spec.shape.size(); ++i) {
      const Witness size{variable.spec.shape[i], variable.other.shape[i]};
      PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), checked(from_witness(size, program)));
    }
    return out.release();
  });
}

PyObject* dtype_of_variable(PyObject* self, PyObject* number) {
  return guarded([&] {
    const Program& program = program_in(self);
    const auto& variable = program.variables()[static_cast<size_t>(to_variable(program, number))];
    return from_dtype(variable.spec.dtype);
  });
}

PyObject* describe(PyObject* self, PyObject* number) {
  return guarded([&] {
    const Program& program = program_in(self);
    return from_text(program.describe(to_variable(program, number)));
  });
}

}  // namespace

PyObject* from_expression(const AttrExpr& expr) {
  switch (expr.kind) {
    case AttrExpr::Kind::kDim:
      return checked(Py_BuildValue("(sii)", "size", expr.slot, expr.dim));
    case AttrExpr::Kind::kLiteral:
      // One with a fraction is told apart: who knows integers alone must not take it for one.
      if (is_real(expr)) {
        return checked(Py_BuildValue("(s(d))", "real", std::get<double>(expr.literal)));
      }
      return from_attr(expr.literal);
    default:
      break;
  }
  Object parts = own(to_tuple_of(expr.parts, from_expression));
  const char* kind = expr.kind == AttrExpr::Kind::kTuple ? "tuple" : expr.attr.c_str();
  return checked(Py_BuildValue("(sO)", kind, parts.get()));
}

namespace {

// steps() -> (op, inputs, outputs, place, {attribute: expression}) for each
PyObject* steps(PyObject* self, PyObject*) {
  return guarded([&] {
    return to_tuple_of(program_in(self).steps(), [](const Program::Step& step) {
      Object exprs = own(PyDict_New());
      for (const auto& [index, expr] : step.exprs) {
        Object value = own(from_expression(expr));
        if (std::holds_alternative<double>(step.op->attrs[index]) && !is_real(expr)) {
          value = own(Py_BuildValue("(s(O))", "float", value.get()));
        }
        const std::string& name = step.op->cls.spec.attrs[index].name;
        check(PyDict_SetItemString(exprs.get(), name.c_str(), value.get()));
      }
      return Py_BuildValue("(NNNNO)", from_op(*step.op), from_variables(step.inputs),
                           from_variables(step.outputs), from_text(step.place), exprs.get());
    });
  });
}

constexpr const char* kRoles[] = {"input", "captured", "result", "state"};

// variables() -> (name, role, value or None) for each
PyObject* variables(PyObject* self, PyObject*) {
  return guarded([&] {
    return to_tuple_of(program_in(self).variables(), [](const Program::Variable& variable) {
      Object value = own(variable.value ? from_value(variable.value) : Py_NewRef(Py_None));
      return Py_BuildValue("(NsO)", from_text(variable.name),
                           kRoles[static_cast<size_t>(variable.role)], value.get());
    });
  });
}

// held() -> a number for each captured value, the same for the same value
PyObject* held_values(PyObject* self, PyObject*) {
  return guarded([&] {
    std::vector<const Value*> held;
    for (const Program::Variable& variable : program_in(self).variables()) {
      if (variable.value) held.push_back(variable.value.get());
    }
    return to_tuple_of(
        held, [](const Value* value) { return PyLong_FromVoidPtr(const_cast<Value*>(value)); });
  });
}

// variable(number) -> (name, role)
PyObject* variable_of(PyObject* self, PyObject* number) {
  return guarded([&] {
    const Program& program = program_in(self);
    const auto& variable = program.variables()[static_cast<size_t>(to_variable(program, number))];
    return Py_BuildValue("(Ns)", from_text(variable.name),
                         kRoles[static_cast<size_t>(variable.role)]);
  });
}

// find(name) -> the number of the last variable of this name, or None
PyObject* find_variable(PyObject* self, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const auto& variables = program_in(self).variables();
    const std::string wanted = shown(name);
    for (size_t i = variables.size(); i-- > 0;) {
      if (variables[i].name == wanted) return PyLong_FromSize_t(i);
    }
    return Py_NewRef(Py_None);
  });
}

// guards() -> (a, b, how, answer, place) for each
PyObject* guards(PyObject* self, PyObject*) {
  return guarded([&] {
    return to_tuple_of(program_in(self).guards(), [](const Program::Guard& guard) {
      return Py_BuildValue("(NNsNN)", from_expression(guard.a), from_expression(guard.b),
                           guard.how.c_str(), PyBool_FromLong(guard.answer),
                           from_text(guard.place));
    });
  });
}

// guard_ops() -> for each of them, the op that assumes it; "": somebody asked
PyObject* guard_ops(PyObject* self, PyObject*) {
  return guarded([&] {
    return to_tuple_of(program_in(self).guards(),
                       [](const Program::Guard& guard) { return from_text(guard.op); });
  });
}

PyObject* sizes(PyObject* self, PyObject*) {
  return guarded([&] {
    const FinalizersWait whole;
    const Program& program = program_in(self);
    Object out = own(PyList_New(0));
    const std::vector<std::string> names = program.unknown_sizes();
    for (size_t i = 0; i < names.size(); ++i) {
      const auto [variable, dimension] = program.place_of_size(i);
      Object item = own(Py_BuildValue("(Nii)", from_text(names[i]), variable, dimension));
      check(PyList_Append(out.get(), item.get()));
    }
    return out.release();
  });
}

PyObject* lines(PyObject* self, PyObject*) {
  return guarded([&] { return to_tuple_of(program_in(self).lines(), from_text); });
}

PyObject* assumptions(PyObject* self, PyObject*) {
  return guarded([&] { return to_tuple_of(program_in(self).assumptions(), from_text); });
}

// text() -> all lines, the parts, and the programs that ops hold
PyObject* text(PyObject* self, PyObject*) {
  return guarded([&] { return from_text(program_in(self).text()); });
}

// version() -> another number after each change
PyObject* version(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(program_in(self).version()); });
}

// to_dot(title) -> a graph in Graphviz's language
PyObject* dot(PyObject* self, PyObject* title) {
  return guarded([&] {
    Picture picture(Picture::Labels::kWhole);
    picture.add(program_in(self), shown(title));
    return from_text(picture.text());
  });
}

}  // namespace

std::vector<PyMethodDef> program_views() {
  return {
      {"shape", as_method(shape_of_variable), METH_O, "The shape of a variable."},
      {"dtype", as_method(dtype_of_variable), METH_O, "The dtype of a variable."},
      {"describe", as_method(describe), METH_O, "Dtype and shape of a variable, as it is printed."},
      {"steps", as_method(steps), METH_NOARGS, "All ops, with what they read and make."},
      {"variables", as_method(variables), METH_NOARGS, "All variables."},
      {"held", as_method(held_values), METH_NOARGS,
       "A number for each captured value, the same for the same value while somebody has it."},
      {"variable", as_method(variable_of), METH_O, "variable(number): its name and its role."},
      {"find", as_method(find_variable), METH_O, "find(name): the last variable of this name."},
      {"sizes", as_method(sizes), METH_NOARGS, "The unknown sizes."},
      {"text_lines", as_method(lines), METH_NOARGS, "The program, line by line."},
      {"assumptions", as_method(assumptions), METH_NOARGS, "What is taken for granted of sizes."},
      {"text", as_method(text), METH_NOARGS, "The program, its parts, what its ops hold."},
      {"to_dot", as_method(dot), METH_O, "to_dot(title): the program as a graph."},
      {"version", as_method(version), METH_NOARGS, "Another number after each change."},
      {"guards", as_method(guards), METH_NOARGS, "What was asked of sizes."},
      {"guard_ops", as_method(guard_ops), METH_NOARGS, "Which op assumes each of them."},
  };
}

}  // namespace tensorlike::bind
