// Keys between brackets: what they say, and the ops that they are.
#pragma once

#include "bind/objects.h"

namespace tensorlike::bind {

// As the attribute of a Subtensor has them: see op/index.h.
using KeyItems = SmallVector<int64_t, 16>;

// Reads brackets; false where a key needs advanced indexing.
bool parse_items(PyObject* key, KeyItems& items);
// The op of these items: no rule of its own. That of a key that was met before is the same object.
Ref<Op> index_op(bool is_set, const KeyItems& items);

// x[key] where the key is one tensor, or as good as one; null where that is not one op.
PyObject* get_by_tensor(PyObject* self, PyObject* key);
// Whether x[key] = value was done so.
bool set_by_tensor(PyObject* self, PyObject* key, PyObject* value);

// Binds the wrapper to the result of an op, in the memory of what it held where nobody else has it.
void assign_result(PyObject* self, const Op& op, std::span<PyObject* const> args);
// The same of a SetSubtensor and what it writes.
void assign_part(PyObject* self, const Op& op, PyObject* value);

}  // namespace tensorlike::bind
