// Tapes that the core opens for itself: where a derivative is found by differentiating once more.
#pragma once

#include "tape/tape.h"

namespace tensorlike {

// A tape for the length of a block; what cut an outer one is remembered.
class InnerTape {
 public:
  InnerTape() : cut_(last_cut()), tape_(open_tape()) {}
  ~InnerTape() {
    close_tape(*tape_);
    last_cut() = std::move(cut_);
  }
  InnerTape(const InnerTape&) = delete;
  InnerTape& operator=(const InnerTape&) = delete;
  const Ref<Tape>& tape() const { return tape_; }

 private:
  Cut cut_;
  const Ref<Tape> tape_;
};

inline Tracer* tracer_on(const Ref<Value>& value, const Ref<Tape>& tape) {
  if (!value || value->tag != Value::kTracer) return nullptr;
  auto* tracer = static_cast<Tracer*>(value.get());
  return tracer->tape.get() == tape.get() && tracer->edge.node ? tracer : nullptr;
}

// The leaves of a tape, and what a backward pass brings to each.
struct Leaves {
  std::vector<Ref<Tracer>> tracers;  // null where none is needed
  Values found;

  explicit Leaves(size_t count) : tracers(count), found(count) {}
  void pull(const Ref<Tape>& tape, const std::vector<Edge>& roots, Values cotangents) {
    if (roots.empty()) return;
    backward(*tape, roots, std::move(cotangents), {},
             [&](const Edge& edge, const Ref<Value>& value) {
               for (size_t i = 0; i < tracers.size(); ++i) {
                 if (tracers[i] && tracers[i]->edge.node == edge.node) found[i] = value;
               }
             });
  }
};

}  // namespace tensorlike
