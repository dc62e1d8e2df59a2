// Finalizers have no part in what goes on.
//
// Python may look for garbage at any allocation, and runs the finalizers of what it finds: somebody
// else's code, in the middle of a block that records, or that takes back what happens inside. What
// they make of nothing would get into a program, what they make that stays become a state of it,
// and what they set be undone. So all that goes on in the thread is put aside meanwhile: they find
// every Tensor as it is outside of it, and what they set is set outside. Python says when: it calls
// what stands in `gc.callbacks` before and behind.
//
// What a context variable says goes on is told by `collection` to have begun outside. It is not
// set to something else meanwhile: up to 3.11 Python looks for garbage while it sets one, and to
// set another one then breaks the mapping that is being made.
#include <vector>

#include "bind/context.h"
#include "bind/rebinding.h"
#include "program/recording.h"

namespace tensorlike::bind {
namespace {

// A collection that is going on in this thread, and what is aside as long as there is one.
class Collection {
 public:
  const int64_t number;

  explicit Collection(int64_t number) : number(number), journals_(put_journals_aside()) {}
  ~Collection() { take_journals_back(journals_); }
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;

 private:
  const RecordedBlock nothing_{nullptr};
  const std::vector<uint64_t> journals_;
};

thread_local Collection* going_on = nullptr;  // no thread ends while it collects

// around_collections(phase, info): what gc.callbacks calls.
PyObject* around_collections(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&] {
    if (n != 2 || PyUnicode_Check(args[0]) == 0) {
      fail(ErrorKind::kAttribute, said::op("around_collections"), "is for the collector alone.");
    }
    // Somebody may have taken it off the list in between.
    delete std::exchange(going_on, nullptr);
    static int64_t last = 0;  // under the GIL
    if (PyUnicode_CompareWithASCIIString(args[0], "start") == 0) going_on = new Collection(++last);
    return Py_NewRef(Py_None);
  });
}

// collection() -> the number of the one that is going on in this thread, or 0
PyObject* collection(PyObject*, PyObject*) {
  return PyLong_FromLongLong(going_on == nullptr ? 0 : going_on->number);
}

PyObject* callback = nullptr;

// FinalizersWait(): a block in which Python looks for no garbage, of a call that ends soon and not
// of a user's: what else such a call relies on, the stream of random numbers, say, is not put
// aside.
class WaitBlock {
 public:
  explicit WaitBlock(PyObject* args) {
    if (PyArg_ParseTuple(args, "") == 0) throw PythonError();
  }
  WaitBlock(WaitBlock&& other) noexcept : is_on_(std::exchange(other.is_on_, false)) {}
  ~WaitBlock() { exit(); }
  void enter() {
    if (is_on_) {
      fail(ErrorKind::kAttribute, said::op("FinalizersWait"),
           "it must not be entered inside itself.");
    }
    is_on_ = true;
    const bool is_enabled = PyGC_Disable() == 1;  // inside of another block: somebody enabled it
    was_enabled_ = is_enabled || (count_ > 0 && was_enabled_);
    ++count_;
  }
  void exit() {
    if (!std::exchange(is_on_, false)) return;
    if (--count_ == 0 && was_enabled_) PyGC_Enable();
  }

 private:
  bool is_on_ = false;
  inline static int64_t count_ = 0;  // of blocks that are going on, in all threads; under the GIL
  inline static bool was_enabled_ = false;  // outside of them
};

PyMethodDef collections_functions[] = {
    {"around_collections", as_method(around_collections), METH_FASTCALL,
     "What Python's collector calls before and behind its work."},
    {"collection", collection, METH_NOARGS,
     "The number of the search for garbage that runs finalizers in this thread; 0: none does."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void keep_finalizers_outside() {
  static PyObject* const gc = checked(PyImport_ImportModule("gc"));
  const Object list = own(PyObject_GetAttrString(gc, "callbacks"));
  if (PyList_Check(list.get()) == 0) return;  // somebody wants none
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) {
    if (PyList_GET_ITEM(list.get(), i) == callback) return;
  }
  check(PyList_Append(list.get(), callback));
}

void add_collections(PyObject* module) {
  check(PyModule_AddFunctions(module, collections_functions));
  Context<WaitBlock>::add(module, "tensorlike._C.FinalizersWait",
                          "FinalizersWait(): a block in which Python looks for no garbage.");
  callback = checked(PyObject_GetAttrString(module, "around_collections"));
}

}  // namespace tensorlike::bind
