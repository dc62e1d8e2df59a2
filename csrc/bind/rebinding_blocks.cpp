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
    if (std::exchange(is_on_, false)) end_journal(number_, !is_kept_);
  }
  void keep() { is_kept_ = true; }

 private:
  uint64_t number_ = 0;
  bool is_on_ = false;
  bool is_kept_ = false;
};

PyObject* journal_keep(PyObject* self, PyObject*) {
  Context<JournalBlock>::of(self).keep();
  Py_RETURN_NONE;
}

// rebound() -> [tensor]; of the innermost block
PyObject* journal_rebound(PyObject*, PyObject*) {
  return guarded([&] {
    Object rows = own(PyList_New(0));
    for (const auto& [tensor, value] : journal_entries()) {
      check(PyList_Append(rows.get(), tensor.get()));
    }
    return rows.release();
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
    if (!own_.empty()) run_unraisable([&] { exit(); });
  }
  void enter() {
    if (!own_.empty())
      fail(ErrorKind::kAttribute, said::op("Holding"), "it must not be entered inside itself.");
    changed_.clear();
    changed_.reserve(given_.size());
    own_.reserve(given_.size());
    try {
      for (const auto& [tensor, value] : given_) {
        own_.emplace_back(tensor, Ref<Value>(value_of(tensor.get())));
        rebind(tensor.get(), value);
      }
    } catch (...) {
      exit();
      throw;
    }
  }
  void exit() {
    for (size_t i = 0; i < own_.size(); ++i) {
      PyObject* tensor = own_[i].first.get();
      const Ref<Value> now(value_of(tensor));
      if (!is_same_value(*now, *given_[i].second)) changed_.emplace_back(own_[i].first, now);
    }
    rebind_all(std::exchange(own_, {}));
  }
  // What was bound to something else inside, and to what.
  const Bindings& changed() const { return changed_; }

 private:
  Bindings given_;
  Bindings own_;  // while it is entered
  Bindings changed_;
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
  Context<JournalBlock>::add(module, "tensorlike._C.Journal",
                             "Journal(): what Tensors are bound to in a block is taken back.",
                             {"keep", as_method(journal_keep), METH_NOARGS, "It stays."},
                             {"rebound", as_method(journal_rebound), METH_NOARGS,
                              "The older Tensors that were bound to something else so far."});
  Context<Holding>::add(module, "tensorlike._C.Holding",
                        "Holding(pairs): Tensors hold other values in a block.",
                        {"changed", as_method(holding_changed), METH_NOARGS,
                         "Which of them were bound to something else inside."});
}

}  // namespace tensorlike::bind
