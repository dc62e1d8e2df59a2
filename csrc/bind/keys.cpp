// Plain keys: integers, slices, None and an ellipsis between brackets. A program uses the keys of
// its loops again and again, with other objects each time: their ops are known by what the keys
// say.
#include "bind/keys.h"

#include <limits>
#include <utility>

#include "bind/programs.h"
#include "op/index.h"

namespace tensorlike::bind {
namespace {

// A number between brackets: an integer, a size, or None where a slice leaves a bound out.
int64_t bound_of(PyObject* object) {
  if (object == Py_None) return kNoBound;
  if (is_size(object)) return number_of_size(object);
  Object index;  // of what is no integer itself
  if (!PyLong_CheckExact(object)) {
    index = own(PyNumber_Index(object));
    object = index.get();
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (overflow != 0) return overflow > 0 ? kMost : -kMost;
  if (live_witnesses > 0) note_written(value);
  return value == kNoBound ? -kMost : static_cast<int64_t>(value);
}

bool is_integer(PyObject* item) {
  return PyIndex_Check(item) && !PyBool_Check(item) && !is_tensor_like(item) &&
         !PySequence_Check(item);
}

// Adds one item of a key; false where it needs advanced indexing.
bool parse_item(PyObject* item, KeyItems& items) {
  const auto add = [&](ItemKind kind, int64_t start, int64_t stop, int64_t step) {
    const size_t at = items.size();
    items.resize(at + 4);
    int64_t* const to = items.data() + at;
    to[0] = static_cast<int64_t>(kind);
    to[1] = start;
    to[2] = stop;
    to[3] = step;
  };
  if (PyLong_CheckExact(item)) {
    add(ItemKind::kInteger, bound_of(item), 0, 0);
  } else if (item == Py_None) {
    add(ItemKind::kNewAxis, 0, 0, 0);
  } else if (item == Py_Ellipsis) {
    add(ItemKind::kEllipsis, 0, 0, 0);
  } else if (PySlice_Check(item)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(item);
    const int64_t step = bound_of(slice->step);
    if (step == 0) fail(ErrorKind::kIndex, said::op("index"), "a slice's step must not be 0.");
    const int64_t start = bound_of(slice->start);
    add(ItemKind::kSlice, start, bound_of(slice->stop), step);
  } else if (is_integer(item)) {
    add(ItemKind::kInteger, bound_of(item), 0, 0);
  } else {
    return false;
  }
  return true;
}

// The ops of the keys that were met last.
class KnownKeys {
 public:
  Ref<Op> op_of(const Function& function, const KeyItems& items) {
    Entry& entry = entries_[place_of(items)];
    if (!entry.op || !(entry.items == items)) {
      std::vector<Attr> attrs;
      attrs.emplace_back(std::vector<int64_t>(items.begin(), items.end()));
      entry.op = function.make_op(std::move(attrs));
      entry.items = items;
    }
    return entry.op;
  }

 private:
  struct Entry {
    KeyItems items;
    Ref<Op> op;
  };
  static constexpr int kBits = 9;
  static constexpr size_t kEntries = size_t{1} << kBits;

  // By multiples of the golden ratio: the integers of a loop, one after the other, lie far apart.
  static size_t place_of(const KeyItems& items) {
    constexpr uint64_t kRatio = 0x9E3779B97F4A7C15ULL;
    uint64_t hash = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      hash += static_cast<uint64_t>(items[i]) * (kRatio * (2 * i + 1));
    }
    return hash >> (64 - kBits);
  }

  Entry entries_[kEntries];
};

}  // namespace

bool parse_items(PyObject* key, KeyItems& items) {
  if (!PyTuple_Check(key)) return parse_item(key, items);
  bool has_ellipsis = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
    PyObject* const item = PyTuple_GET_ITEM(key, i);
    if (item == Py_Ellipsis && std::exchange(has_ellipsis, true)) {
      fail(ErrorKind::kIndex, said::op("index"), "an index can only have one ellipsis ('...').");
    }
    if (!parse_item(item, items)) return false;
  }
  return true;
}

Ref<Op> index_op(bool is_set, const KeyItems& items) {
  static const Function* const taken = registry().find_function("subtensor");
  static const Function* const set = registry().find_function("set_subtensor");
  static auto& known_taken = *new KnownKeys;
  static auto& known_set = *new KnownKeys;
  return is_set ? known_set.op_of(*set, items) : known_taken.op_of(*taken, items);
}

}  // namespace tensorlike::bind
