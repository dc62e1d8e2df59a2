// Streams of random draws: a key, and how many draws were taken under it.
#pragma once

#include "bind/objects.h"
#include "program/drawn_op.h"

namespace tensorlike::bind {

// Where a stream of draws is: its key, and how many were taken.
struct StreamPlace {
  uint64_t key = 0, taken = 0;
};

// The draws of one call, which the stream of its source gives; none of a source without a stream.
class DrawsOf {
 public:
  explicit DrawsOf(PyObject* source);
  // Whether a call that is one op is that op with the next draw, and no more.
  bool is_plain() const;
  // What the op gives with the next draw in the place of its own.
  PyObject* drawn(const Op& op) const;
  // Takes back what was drawn since, unless another thread has drawn meanwhile.
  void give_back() const noexcept;

 private:
  Object stream_;
  StreamPlace before_;
};

void add_streams(PyObject* module);

}  // namespace tensorlike::bind
