// Ops that were made for earlier calls, by the very objects that were given as attributes: call
// sites give the same constants again and again, and those cannot change.
#pragma once

#include <span>

#include "bind/objects.h"

namespace tensorlike::bind {

class MadeOps {
 public:
  using Given = std::span<PyObject* const>;  // null: not given
  using Shapes = std::span<const Dims* const>;

  // Null where the op is not known. `shapes`: of tensors, where the op depends on them.
  Ref<Op> find(Given attrs, Shapes shapes = {}) const;
  // Whether all numbers are too small to stand for unknown sizes.
  static bool are_plain(Given attrs, Shapes shapes);
  // Remembers an op, if what it was made of is constant.
  void keep(Given attrs, const Ref<Op>& op, Shapes shapes = {});

 private:
  static constexpr size_t kEntries = 8;
  static constexpr size_t kAttrs = 6;
  struct Entry {
    size_t count = 0;
    Object attrs[kAttrs];
    SmallVector<Dims, 1> shapes;
    Ref<Op> op;
  };
  Entry entries_[kEntries];
  size_t next_ = 0;
};

}  // namespace tensorlike::bind
