// Which steps of a body are run. All of them, but for three things: a choice takes one of two
// slots, and what only the other one needs is left out; so is what only results need that nobody
// asks for; and where nothing flows into an input, neither does anything through what is linear in
// it.
#pragma once

#include "tensor/body.h"
#include "tensor/step_attrs.h"

namespace tensorlike {

class BodyPlan {
 public:
  explicit BodyPlan(const BodyCall& call)
      : body_(call.body), absent_(call.absent), wanted_(call.wanted), is_rule_(call.is_rule) {}

  bool is_needed() const { return body_.has_choices || absent_ != 0 || ~wanted_ != 0; }
  void make(StepAttrs& attrs);

  bool is_wanted(size_t result) const { return result >= 64 || (wanted_ >> result & 1U) != 0; }
  bool is_made() const { return !slots_.empty(); }
  bool runs(const CompiledStep& step) const;
  // The slot that a step's result is, of a choice or of a sum with zeros; -1: it has its own.
  int same_as(const CompiledStep& step) const { return is_made() ? at(step.slot).same_as : -1; }
  // Whether a slot is zeros that nobody has made.
  bool is_absent(int slot) const;
  // Whether anybody but sums and results reads a slot: those spread it where that is needed.
  bool needs_shape(int slot) const { return at(slot).has_reader; }
  // The step that has this slot for a result.
  const CompiledStep& step_of(int slot) const;

 private:
  struct Slot {
    bool is_absent = false;
    bool is_zero = false;  // a number of a rule: absent where a choice takes it
    bool is_live = false;
    bool has_reader = false;
    int same_as = -1;
  };

  Slot& at(int slot) { return slots_[static_cast<size_t>(slot)]; }
  const Slot& at(int slot) const { return slots_[static_cast<size_t>(slot)]; }
  void follow(const CompiledStep& step, StepAttrs& attrs);
  void ask_for(const CompiledStep& step);
  void read_shapes(const AttrExpr& expr);

  const CompiledBody& body_;
  const uint64_t absent_;
  const uint64_t wanted_;
  const bool is_rule_;
  SmallVector<Slot, 64> slots_;
};

}  // namespace tensorlike
