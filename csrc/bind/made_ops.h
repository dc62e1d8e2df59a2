// Ops that were made for earlier calls, by the very objects that were given as attributes: call
// sites give the same constants again and again, and those cannot change.
#pragma once

#include <span>

#include "bind/objects.h"

namespace tensorlike::bind {

class MadeOps {
 public:
  using Given = std::span<PyObject* const>;  // null: not given

  // Null where the op is not known. `shape`: that of the tensor, where the op depends on it.
  Ref<Op> find(Given attrs, const Dims& shape = {}) const;
  // Remembers an op, if what it was made of is constant.
  void keep(Given attrs, const Ref<Op>& op, const Dims& shape = {});

 private:
  static constexpr size_t kEntries = 8;
  static constexpr size_t kAttrs = 6;
  struct Entry {
    size_t count = 0;
    Object attrs[kAttrs];
    Dims shape;
    Ref<Op> op;
  };
  Entry entries_[kEntries];
  size_t next_ = 0;
};

}  // namespace tensorlike::bind
