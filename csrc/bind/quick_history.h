// Quick calls on values by which derivatives are wanted: the program becomes one node of the tape,
// of each tape where several are nested, and its gradient a part of the same program. A program
// that draws random numbers has no such gradient: its ops are recorded one by one. It is what
// `apply` would do with the op around the program, as long as no rule of a user's has a say in it.
#pragma once

#include <memory>
#include <vector>

#include "bind/objects.h"
#include "dispatch/known_meaning.h"
#include "program/holder.h"
#include "tape/tape.h"

namespace tensorlike::bind {

class QuickHistory {
 public:
  // The op around the program; (which results have a history, form): `form` gives, for flags of
  // the inputs that derivatives are wanted by, the op that a tape records, or None. None: the
  // program has no history.
  QuickHistory(Ref<Op> op, PyObject* said);

  // Whether results have a history, by the values that the program is given.
  bool is_there() const { return static_cast<bool>(form_); }
  // The results; empty: the call must go the long way, and nothing has been done.
  Values run(Args given) const;
  int visit(visitproc visit, void* arg) const;

 private:
  struct Form {
    std::vector<uint64_t> kinds;
    Object object;
    Ref<Op> op;  // the one around the program: its ops are recorded one by one
    bool is_one_node = false;
    std::vector<KnownMeaning> on_tapes;  // the innermost first
    KnownMeaning on_elements;
  };
  struct Recorded;
  const Form* form_for(const Recorded& recorded) const;
  // Whether `apply` would come to the tapes' own rule, and on elements to the core's.
  static bool is_plain(const Form& form, const Recorded& recorded, Args given);

  const Ref<Op> op_;
  Object form_;
  std::vector<bool> lives_;
  // Calls may ask for forms while one of them is made.
  mutable std::vector<std::shared_ptr<const Form>> forms_;
};

}  // namespace tensorlike::bind
