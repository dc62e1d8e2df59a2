// Quick calls on values by which derivatives are wanted: the program becomes one node of the tape,
// whose gradient is a part of the same program. It is what `apply` would do with the op around the
// program, as long as no rule of a user's has a say in it.
#pragma once

#include <memory>
#include <vector>

#include "bind/objects.h"
#include "dispatch/known_meaning.h"
#include "program/holder.h"

namespace tensorlike::bind {

class QuickHistory {
 public:
  // (which results have a history, form): `form` gives, for flags of the inputs that derivatives
  // are wanted by, the op that a tape records, or None. None: the program has no history.
  explicit QuickHistory(PyObject* said);

  // Whether results have a history, by the values that the program is given.
  bool is_there() const { return static_cast<bool>(form_); }
  // The results; empty: the call must go the long way, and nothing has been done.
  Values run(Args given) const;
  int visit(visitproc visit, void* arg) const;

 private:
  // What an input is: plain, a constant on the tape, or one that derivatives are wanted by.
  enum class Kind : uint8_t { kPlain, kConstant, kWanted };
  struct Form {
    std::vector<Kind> kinds;
    Object object;
    Ref<Op> op;  // null: its ops are recorded one by one
    KnownMeaning on_tape, on_elements;
  };
  struct Recorded;
  const Form* form_for(const std::vector<Kind>& kinds) const;
  static bool is_plain(const Form& form, Args given);

  Object form_;
  std::vector<bool> lives_;
  // Calls may ask for forms while one of them is made.
  mutable std::vector<std::shared_ptr<const Form>> forms_;
};

}  // namespace tensorlike::bind
