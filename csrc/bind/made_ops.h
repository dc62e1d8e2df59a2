// Ops that were made for earlier calls, by the very objects that were given as attributes: call
// sites give the same constants again and again, and those cannot change.
#pragma once

#include <span>
#include <utility>

#include "bind/objects.h"

namespace tensorlike::bind {

class MadeOps {
 public:
  using Given = std::span<PyObject* const>;  // null: not given
  using Shapes = std::span<const Dims* const>;

  // What a call is: an op on its tensors, and then, where there is one, another on the result.
  struct Made {
    Made(Ref<Op> first = nullptr, Ref<Op> second = nullptr)
        : op(std::move(first)), then(std::move(second)) {}
    Ref<Op> op, then;
  };

  // Without an op where it is not known. `shapes`: of tensors, where the op depends on them.
  Made find(Given attrs, Shapes shapes = {}) const;
  // Whether all numbers are too small to stand for unknown sizes.
  static bool are_plain(Given attrs, Shapes shapes);
  // Remembers them, if what they were made of is constant.
  void keep(Given attrs, const Made& made, Shapes shapes = {});

 private:
  static constexpr size_t kEntries = 8;
  static constexpr size_t kAttrs = 16;  // values and names of keywords, too
  struct Entry {
    size_t count = 0;
    Object attrs[kAttrs];
    SmallVector<Dims, 1> shapes;
    Made made;
  };
  Entry entries_[kEntries];
  size_t next_ = 0;
};

}  // namespace tensorlike::bind
