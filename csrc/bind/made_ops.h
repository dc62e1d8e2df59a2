// Ops that were made for earlier calls, by the very objects that were given as attributes: call
// sites give the same constants again and again, and those cannot change.
#pragma once

#include <span>
#include <vector>

#include "bind/objects.h"

namespace tensorlike::bind {

class MadeOps {
 public:
  using Given = std::span<PyObject* const>;  // null: not given
  // What an op may depend on of a tensor.
  struct Kind {
    const Dims* shape;
    DType dtype;
  };
  using Kinds = std::span<const Kind>;

  // A further op of a call, on the result so far; with a number, an assignment of it to that.
  struct Step {
    Ref<Op> op;
    Object number;
  };
  struct Steps final : RefCounted {
    std::vector<Step> all;
  };
  // What a call is: an op on its tensors, and what is done with the result.
  struct Made {
    Ref<Op> op;
    Ref<const Steps> then = nullptr;
  };

  // Without an op where it is not known.
  Made find(Given attrs, Kinds tensors = {}) const;
  // Whether all numbers are too small to stand for unknown sizes.
  static bool are_plain(Given attrs, Kinds tensors);
  // Remembers them, if what they were made of is constant.
  void keep(Given attrs, const Made& made, Kinds tensors = {});

 private:
  static constexpr size_t kEntries = 8;
  static constexpr size_t kAttrs = 16;  // values and names of keywords, too
  struct KeptKind {
    Dims shape;
    DType dtype;
  };
  struct Entry {
    size_t count = 0;
    Object attrs[kAttrs];
    SmallVector<KeptKind, 1> tensors;
    Made made;
  };
  Entry entries_[kEntries];
  size_t next_ = 0;
};

}  // namespace tensorlike::bind
