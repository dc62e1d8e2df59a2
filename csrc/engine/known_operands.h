// What calls that are known before they run have in common: operands that are there, and what a
// profile is told.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/profile.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {

// Operands that are there, on one device, and an engine that runs at once.
struct KnownOperands {
  explicit KnownOperands(Args args) {
    if (engine_options().mode != EngineMode::kSync || args.empty()) return;
    for (Value* arg : args) {
      if (arg == nullptr || arg->tag != Value::kRaw) return;
      const RawTensor& x = *static_cast<RawTensor*>(arg);
      if (x.pending) return;
      arrays.push_back(&x);
      if (!(x.device == arrays[0]->device)) return;
    }
    are_there = true;
  }
  Arrays seen() const { return {arrays.data(), arrays.size()}; }
  Device device() const { return arrays[0]->device; }

  SmallVector<const Array*, 12> arrays;
  bool are_there = false;
};

// Tells a profile what ran.
inline void tell(ProfileScope& scope, std::span<const std::string> ops, const std::string& place,
                 const Dims& shape, Args operands, const Values& results) {
  if (!scope) return;
  for (const std::string& op : ops) {
    scope.event->name += (scope.event->name.empty() ? "" : " + ") + op;
  }
  scope.event->ops.assign(ops.begin(), ops.end());
  scope.event->place = place;
  scope.event->shape = to_string(shape);
  for (Value* x : operands) scope.event->bytes += bytes_of(*static_cast<RawTensor*>(x));
  for (const Ref<Value>& y : results) {
    scope.event->bytes += bytes_of(static_cast<const RawTensor&>(*y));
  }
}

}  // namespace tensorlike
