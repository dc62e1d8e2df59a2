// Blocks in which Tensors are bound to something else.
#include "bind/context.h"
#include "bind/rebinding.h"

namespace tensorlike::bind {
namespace {

// Journal(): Tensors that are older than the block are bound to what they were when it ends, unless
// `keep` was called inside.
class JournalBlock {
 public:
  explicit JournalBlock(PyObject* args) {
    if (PyArg_ParseTuple(args, "") == 0) throw PythonError();
  }
  JournalBlock(JournalBlock&&) = default;
  ~JournalBlock() {
    if (is_on_) run_unraisable([&] { exit(); });
  }
  void enter() {
    if (is_on_)
      fail(ErrorKind::kAttribute, said::op("Journal"), "it must not be entered inside itself.");
    number_ = begin_journal();
    is_on_ = true;
    is_kept_ = false;
  }
  void exit() {
    // Its own: one that a generator left open ends when that is collected, inside of others.
    if (!std::exchange(is_on_, false)) return;
    const Bindings entries = end_journal(number_);
    if (!is_kept_) rebind_all(entries);
  }
  void keep() { is_kept_ = true; }
  Bindings entries() const { return is_on_ ? journal_entries(number_) : Bindings(); }
  bool keeps(PyObject* wrapper) const { return is_on_ && is_as_before(number_, wrapper); }

 private:
  uint64_t number_ = 0;
  bool is_on_ = false;
  bool is_kept_ = false;
};

PyObject* journal_keep(PyObject* self, PyObject*) {
  Context<JournalBlock>::of(self).keep();
  Py_RETURN_NONE;
}

PyObject* wrappers_of(const Bindings& entries) {
  Object rows = own(PyList_New(0));
  for (const auto& [tensor, value] : entries) check(PyList_Append(rows.get(), tensor.get()));
  return rows.release();
}

// rebound() -> [tensor]; older than this block, whatever blocks go on inside of it
PyObject* journal_rebound(PyObject* self, PyObject*) {
  return guarded([&] { return wrappers_of(Context<JournalBlock>::of(self).entries()); });
}

// is_as_before(tensor) -> bool
PyObject* journal_is_as_before(PyObject* self, PyObject* wrapper) {
  return guarded([&]() -> PyObject* {
    if (PyObject_TypeCheck(wrapper, types.wrapper) == 0) {
      fail(ErrorKind::kAttribute, said::op("Journal"), "it tells the age of Tensors alone.");
    }
    return PyBool_FromLong(Context<JournalBlock>::of(self).keeps(wrapper) ? 1 : 0);
  });
}

// Holding(pairs): each Tensor is bound to the value beside it, and afterwards to its own again.
class Holding {
 public:
  explicit Holding(PyObject* args) {
    PyObject* pairs = nullptr;
    if (PyArg_ParseTuple(args, "O", &pairs) == 0) throw PythonError();
    const Object all = own(PySequence_Tuple(pairs));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i) {
      PyObject* tensor = nullptr;
      PyObject* value = nullptr;
      if (PyArg_ParseTuple(PyTuple_GET_ITEM(all.get(), i), "O!O", types.wrapper, &tensor, &value) ==
          0) {
        throw PythonError();
      }
      given_.emplace_back(Object::share(tensor), to_value(value));
    }
  }
  Holding(Holding&&) = default;
  ~Holding() {
    if (is_on_) run_unraisable([&] { exit(); });
  }
  void enter() {
    if (is_on_)
      fail(ErrorKind::kAttribute, said::op("Holding"), "it must not be entered inside itself.");
    changed_.clear();
    changed_.reserve(given_.size());
    Bindings own;
    own.reserve(given_.size());
    try {
      for (const auto& [tensor, value] : given_) {
        own.emplace_back(tensor, Ref<Value>(value_of(tensor.get())));
        rebind(tensor.get(), value);
      }
    } catch (...) {
      rebind_all(own);
      throw;
    }
    number_ = begin_holding(std::move(own));
    is_on_ = true;
  }
  void exit() {
    if (!std::exchange(is_on_, false)) return;
    const Bindings own = end_journal(number_);
    for (size_t i = 0; i < own.size(); ++i) {
      const Ref<Value> now(value_of(own[i].first.get()));
      if (!is_same_value(*now, *given_[i].second)) changed_.emplace_back(own[i].first, now);
    }
    rebind_all(own);
  }
  // What was bound to something else inside, and to what.
  const Bindings& changed() const { return changed_; }

 private:
  Bindings given_;
  Bindings changed_;
  uint64_t number_ = 0;
  bool is_on_ = false;
};

// changed() -> [(tensor, value)]
PyObject* holding_changed(PyObject* self, PyObject*) {
  return guarded([&] {
    const Bindings changed = Context<Holding>::of(self).changed();
    Object rows = own(PyList_New(0));
    for (const auto& [tensor, value] : changed) {
      Object held = own(from_value(value));
      Object row = own(PyTuple_Pack(2, tensor.get(), held.get()));
      check(PyList_Append(rows.get(), row.get()));
    }
    return rows.release();
  });
}

}  // namespace

void add_rebinding_blocks(PyObject* module) {
  add_collections(module);
  Context<JournalBlock>::add(
      module, "tensorlike._C.Journal",
      "Journal(): what Tensors are bound to in a block is taken back.",
      {"keep", as_method(journal_keep), METH_NOARGS, "It stays."},
      {"rebound", as_method(journal_rebound), METH_NOARGS,
       "Older Tensors that were bound to something else inside."},
      {"is_as_before", as_method(journal_is_as_before), METH_O,
       "Whether a Tensor was there when it began, and is bound to the same."});
  Context<Holding>::add(module, "tensorlike._C.Holding",
                        "Holding(pairs): Tensors hold other values in a block.",
                        {"changed", as_method(holding_changed), METH_NOARGS,
                         "Which of them were bound to something else inside."});
}

}  // namespace tensorlike::bind
