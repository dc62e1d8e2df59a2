// The arguments of a call that a recorded program may serve: numbers and words that are the same,
// and Tensors, each another one, of the kind that the program was recorded for.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "bind/programs.h"
#include "bind/quick_guards.h"
#include "program/stretch.h"
#include "tape/gradient.h"

namespace tensorlike::bind {

using Tensors = std::span<PyObject* const>;

// The elements under tracers, however many; null: there are other values there.
inline RawTensor* elements_under(Value* value) {
  while (value != nullptr && value->tag == Value::kTracer) {
    value = static_cast<Tracer*>(value)->primal.get();
  }
  return value != nullptr && value->tag == Value::kRaw ? static_cast<RawTensor*>(value) : nullptr;
}

class QuickArguments {
 public:
  // Each a number, a word or None, or of a Tensor a tuple: the number of its variable, and whether
  // it is on a tape, derivatives are wanted by it, it is a leaf.
  QuickArguments(const Stretch& stretch, PyObject* said) : program_(stretch.program) {
    for (const Object& item : objects_in(said)) {
      Argument& argument = arguments_.emplace_back();
      if (PyTuple_Check(item.get()) == 0) {
        argument.same = Object::share(item.get());
        continue;
      }
      argument.variable = to_variable(*program_, item_of(item.get(), 0));
      argument.is_traced = item_of(item.get(), 1) == Py_True;
      argument.is_differentiated = item_of(item.get(), 2) == Py_True;
      argument.is_leaf = item_of(item.get(), 3) == Py_True;
      variables_.push_back(argument.variable);
      const Program::Variable& x = program_->variables()[static_cast<size_t>(argument.variable)];
      const auto& given = stretch.given;
      const bool is_read = std::find(given.begin(), given.end(), argument.variable) != given.end();
      compares_sizes_ = compares_sizes_ || (!is_read && x.spec.shape != x.other.shape);
    }
  }

  bool take(Tensors given, SmallVector<PyObject*, 8>& tensors) const {
    if (given.size() != arguments_.size()) return false;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      PyObject* const x = given[i];
      if (arguments_[i].same) {
        if (!is_same(x, arguments_[i].same.get())) return false;
        continue;
      }
      if (Py_TYPE(x) != types.tensor || !is_of_kind(arguments_[i], value_of(x))) return false;
      if (std::find(tensors.begin(), tensors.end(), x) != tensors.end()) return false;
      tensors.push_back(x);
    }
    return !compares_sizes_ || have_sizes({tensors.data(), tensors.size()});
  }

  int visit(visitproc visit, void* arg) const {
    for (const Argument& argument : arguments_) Py_VISIT(argument.same.get());
    return 0;
  }

 private:
  struct Argument {
    Object same;  // null: a Tensor
    int variable = -1;
    bool is_traced = false, is_differentiated = false, is_leaf = false;
  };

  // The same object, or an equal number.
  static bool is_same(PyObject* x, PyObject* was) {
    if (x == was) return true;
    if (Py_TYPE(x) != Py_TYPE(was)) return false;
    if (PyFloat_CheckExact(x) != 0) {  // zeros have signs
      const double a = PyFloat_AS_DOUBLE(x);
      const double b = PyFloat_AS_DOUBLE(was);
      return std::memcmp(&a, &b, sizeof a) == 0;
    }
    if (PyLong_CheckExact(x) == 0 && PyUnicode_CheckExact(x) == 0) return false;
    const int same = PyObject_RichCompareBool(x, was, Py_EQ);
    check(same);
    return same == 1;
  }

  // Shapes and dtypes count of arguments that no step reads, too: Python may have asked for them.
  bool is_of_kind(const Argument& wanted, Value* value) const {
    if (wanted.is_traced != (value->tag == Value::kTracer)) return false;
    if (wanted.is_traced) {
      const auto& tracer = static_cast<const Tracer&>(*value);
      // What is on several tapes has a history on the innermost, or Python sees it otherwise.
      if (tracer.primal->tag != Value::kRaw && !tracer.edge.node) return false;
      if (static_cast<bool>(tracer.edge.node) != wanted.is_differentiated) return false;
      if ((tracer.edge.node && tracer.edge.node->is_leaf()) != wanted.is_leaf) return false;
    }
    const RawTensor* elements = elements_under(value);
    return elements != nullptr &&
           program_->may_be(wanted.variable, elements->dtype, elements->shape);
  }

  // Unknown sizes of one name are equal; of what the program reads it says so itself.
  bool have_sizes(Tensors tensors) const {
    std::vector<Spec> specs;
    for (PyObject* x : tensors) specs.push_back(elements_under(value_of(x))->spec());
    try {
      program_->sizes_of("program", variables_, specs);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  const Ref<Program> program_;
  std::vector<Argument> arguments_;
  std::vector<int> variables_;
  bool compares_sizes_ = false;
};

}  // namespace tensorlike::bind
