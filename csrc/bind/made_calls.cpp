// Calls that are one op, or some that follow each other: the function gives the ops, and they are
// remembered.
#include <optional>

#include "bind/expressions.h"
#include "bind/keys.h"
#include "bind/named.h"
#include "bind/programs.h"
#include "bind/streams.h"
#include "dispatch/dispatcher.h"

namespace tensorlike::bind {
namespace {

// What all depends on that is done with a Tensor around elements; nothing of other tensors.
std::optional<MadeOps::Kind> plain_kind(PyObject* tensor) {
  if (!is_own_wrapper(Py_TYPE(tensor)) || !dispatcher().is_wrapper_plain()) return {};
  const RawTensor* const raw = raw_under(value_of(tensor));
  if (raw == nullptr) return {};
  return MadeOps::Kind{&raw->shape, raw->dtype};
}

using Places = SmallVector<Py_ssize_t, 3>;

// Where the arguments of these names, which follow those of others, stand among arguments and
// keywords; -1: nowhere.
Places places_of(PyObject* names, Py_ssize_t n, PyObject* kwnames, PyObject* others = nullptr) {
  const Py_ssize_t first = others == nullptr ? 0 : PyTuple_GET_SIZE(others);
  Places places;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    Py_ssize_t found = first + i < n ? first + i : -1;
    const Py_ssize_t keywords = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t k = 0; found < 0 && k < keywords; ++k) {
      const bool is_it =
          PyUnicode_Compare(PyTuple_GET_ITEM(kwnames, k), PyTuple_GET_ITEM(names, i)) == 0;
      if (is_it) found = n + k;
    }
    places.push_back(found);
  }
  return places;
}

PyObject* applied(const Op& op, std::span<PyObject* const> operands) {
  const bool takes_none = op.cls.spec.args.empty() && op.scalar == nullptr &&
                          op.reduction == nullptr && op.cls.is_declared;
  if (operands.empty() || takes_none) return wrap(apply(op, {})[0], types.tensor);
  if (operands.size() == 1) return apply_to_one(op, operands[0]);
  return apply_single(op, operands.data(), operands.size());
}

PyObject* applied(const MadeOps::Made& made, std::span<PyObject* const> operands) {
  const OpApplied is_applied;
  PyObject* const first = applied(*made.op, operands);
  if (!made.then) return first;
  Object result = own(first);
  for (const MadeOps::Step& step : made.then->all) {
    if (step.number) {
      assign_part(result.get(), *step.op, step.number.get());
    } else {
      result = own(apply_to_one(*step.op, result.get()));
    }
  }
  return result.release();
}

bool is_op(PyObject* object) { return PyObject_TypeCheck(object, types.op_base) != 0; }

// A further op, or a pair of one and a number; without an op where it is neither.
MadeOps::Step step_of(PyObject* given) {
  if (is_op(given)) return {to_op(given), {}};
  const bool is_pair = PyTuple_CheckExact(given) != 0 && PyTuple_GET_SIZE(given) == 2 &&
                       is_op(PyTuple_GET_ITEM(given, 0));
  if (!is_pair) return {};
  return {to_op(PyTuple_GET_ITEM(given, 0)), Object::share(PyTuple_GET_ITEM(given, 1))};
}

// The ops that stand in place of a result; none where it is a result.
MadeOps::Made ops_in_place_of(PyObject* result) {
  if (is_op(result)) return {to_op(result)};
  const bool is_tuple = PyTuple_CheckExact(result) != 0 && PyTuple_GET_SIZE(result) > 1;
  if (!is_tuple || !is_op(PyTuple_GET_ITEM(result, 0))) return {};
  auto then = make_ref<MadeOps::Steps>();
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(result); ++i) {
    then->all.push_back(step_of(PyTuple_GET_ITEM(result, i)));
    if (!then->all.back().op) return {};
  }
  return {to_op(PyTuple_GET_ITEM(result, 0)), then};
}

// The operands of a call that is one op, and what that depends on.
struct Operands {
  const std::span<PyObject* const> args;  // the call's, those of keywords last
  SmallVector<PyObject*, 8> given;        // the same, and the keywords, as the op depends on them
  SmallVector<std::pair<size_t, Object>, 1> converted;  // and in which places
  SmallVector<PyObject*, 3> those;
  SmallVector<MadeOps::Kind, 3> kinds;
  bool is_known = true;  // whether it depends on nothing else

  explicit Operands(std::span<PyObject* const> args)
      : args(args), given(args.begin(), args.end()) {}
  void add_tensor(Py_ssize_t place) {
    is_known = is_known && place >= 0;
    if (place < 0) return;
    const auto at = static_cast<size_t>(place);
    PyObject* tensor = args[at];
    if (!is_own_wrapper(Py_TYPE(tensor)) && !is_tensor_like(tensor)) {
      converted.push_back({at, own(wrap(as_value(tensor, Py_None), types.tensor))});
      tensor = converted.back().second.get();
    }
    add(at, tensor);
  }
  // What may be a number, which is told by its class: the dtype of the result depends on that.
  void add_beside(Py_ssize_t place) {
    if (place < 0) return;
    const auto at = static_cast<size_t>(place);
    PyObject* const it = args[at];
    if (it == Py_None) return;
    if (!PyFloat_CheckExact(it) && !PyLong_CheckExact(it) && !PyBool_Check(it)) return add(at, it);
    given[at] = reinterpret_cast<PyObject*>(Py_TYPE(it));
    those.push_back(it);
  }
  // What the function is called with.
  SmallVector<PyObject*, 8> all() const {
    SmallVector<PyObject*, 8> found(args.begin(), args.end());
    for (const auto& [at, object] : converted) found[at] = object.get();
    return found;
  }

 private:
  void add(size_t at, PyObject* tensor) {
    given[at] = nullptr;  // it is told by its kind
    those.push_back(tensor);
    const std::optional<MadeOps::Kind> kind = plain_kind(tensor);
    is_known = is_known && kind;
    if (kind) kinds.push_back(*kind);
  }
};

}  // namespace

PyObject* call_made(const NamedObject& self, PyObject* const* args, Py_ssize_t n,
                    PyObject* kwnames) {
  const Py_ssize_t keywords = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  return guarded([&]() -> PyObject* {
    Operands operands({args, static_cast<size_t>(n + keywords)});
    for (const Py_ssize_t place : places_of(self.tensors, n, kwnames)) operands.add_tensor(place);
    if (self.beside != nullptr) {
      for (const Py_ssize_t place : places_of(self.beside, n, kwnames, self.tensors)) {
        operands.add_beside(place);
      }
    }
    auto& given = operands.given;
    for (Py_ssize_t k = 0; k < keywords; ++k) given.push_back(PyTuple_GET_ITEM(kwnames, k));
    const MadeOps::Given key(given.data(), given.size());
    const MadeOps::Kinds kinds(operands.kinds.data(), operands.kinds.size());
    const std::span<PyObject* const> those(operands.those.data(), operands.those.size());
    const bool is_known =
        operands.is_known && (live_witnesses == 0 || MadeOps::are_plain(key, kinds));
    if (is_known) {
      if (const MadeOps::Made known = self.made->find(key, kinds); known.op) {
        return applied(known, those);
      }
    }
    const SmallVector<PyObject*, 8> all = operands.all();
    Object found =
        own(PyObject_Vectorcall(self.function, all.data(), static_cast<size_t>(n), kwnames));
    const MadeOps::Made made = ops_in_place_of(found.get());
    if (!made.op) return found.release();
    if (is_known) self.made->keep(key, made, kinds);
    return applied(made, those);
  });
}

// A call that draws, in the name of its first argument, which draws it. A draw that is refused has
// not been taken.
PyObject* call_drawing(const NamedObject& self, PyObject* const* args, Py_ssize_t n,
                       PyObject* kwnames) {
  const Py_ssize_t keywords = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  DrawsOf draws(n > 0 ? args[0] : nullptr);
  PyObject* const result = guarded([&]() -> PyObject* {
    SmallVector<PyObject*, 8> given(args, args + n + keywords);
    if (n > 0) given[0] = nullptr;
    for (Py_ssize_t k = 0; k < keywords; ++k) given.push_back(PyTuple_GET_ITEM(kwnames, k));
    const MadeOps::Given key(given.data(), given.size());
    const bool is_plain = draws.is_plain() && (live_witnesses == 0 || MadeOps::are_plain(key, {}));
    if (is_plain) {
      if (const Ref<Op> known = self.made->find(key).op) return draws.drawn(*known);
    }
    Object found = own(PyObject_Vectorcall(self.function, args, static_cast<size_t>(n), kwnames));
    if (!is_op(found.get())) return found.release();
    const Ref<Op> op = to_op(found.get());
    if (is_plain) {
      self.made->keep(key, {op});
      return draws.drawn(*op);
    }
    PyObject* both[] = {args[0], found.get()};
    return PyObject_Vectorcall(self.draw, both, 2, nullptr);
  });
  if (result == nullptr) draws.give_back();
  return result;
}

}  // namespace tensorlike::bind
