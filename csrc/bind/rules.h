// Rules written in Python, and what dispatch sees of Python's objects.
#pragma once

#include <utility>
#include <vector>

#include "bind/objects.h"

namespace tensorlike::bind {

// A rule written in Python: called with the op and the tensor-likes.
class PythonRule final : public Rule {
 public:
  // `classes`: those of the signature, which live as long as the rule.
  PythonRule(std::string name, std::string place, Signature signature, PyObject* function,
             std::vector<Object> classes)
      : Rule(std::move(name), std::move(place), std::move(signature)),
        function_(Py_NewRef(function)),
        classes_(std::move(classes)) {}
  ~PythonRule() override { Py_DECREF(function_); }

  bool call(const Op& op, Args args, Values& out) override;

  PyObject* function() const { return function_; }

 private:
  PyObject* function_;
  const std::vector<Object> classes_;
};

// Whether it is the rule of the imperative room that puts calls of programs on a tape.
bool is_rule_of_calls(const Rule& rule);

// What rules, bodies and gradients written in Python return, as a tuple: one result, or several.
Object result_tuple(PyObject* result);
// Fails unless the object is a tensor-like; the error names the function that returned it.
void check_tensor_like(PyObject* item, const std::string& who, const char* wanted);
// Refuses what a rule must not return: another number of results than the op has, or what is
// neither a tensor-like nor of the kind of an argument. `op` is null for ops written in Python.
void check_results(const PythonRule& rule, const Op* op, PyObject* results, PyObject* const* args,
                   size_t n);

// What dispatch sees of the arguments: their kinds, and which of them is the highest.
std::pair<std::vector<const Type*>, size_t> kinds_of(PyObject* const* args, size_t n);

// Each value as the object that stands for it, wrappers as they are.
PyObject* values_to_tuple(const Values& values);

}  // namespace tensorlike::bind
