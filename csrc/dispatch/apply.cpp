// Applying an op. Built-in tensor-likes go straight to their meaning as long as no user's rule can
// have a say; everything else is dispatched.
#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "op/infer.h"
#include "op/registry.h"
#include "tensor/creation.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {

// The kinds that are present.
static unsigned tags_of(Args args) {
  unsigned tags = 0;
  for (const Value* arg : args) tags |= arg->tag;
  return tags;
}

Ref<Value> apply_small(const Op& op, Args args) {
  if (!op.cls.plain.load(std::memory_order_relaxed) || tags_of(args) != Value::kRaw) return nullptr;
  return launch_small(op, args);
}

static Values apply_any(const Op& op, Args args) {
  if (op.cls.plain.load(std::memory_order_relaxed)) {
    const unsigned tags = tags_of(args);
    Values out;
    if ((tags & ~Value::kRaw) == 0 && apply_raw(op, args, out)) return out;
    if ((tags & ~(Value::kRaw | Value::kTracer)) == 0 && (tags & Value::kTracer) != 0 &&
        apply_tracer(op, args, out)) {
      return out;
    }
  }
  return dispatcher().call(op, args);
}

Values apply(const Op& op, Args args) {
  if (Ref<Value> out = apply_small(op, args)) {
    Values results;
    results.push_back(std::move(out));
    return results;
  }
  return apply_any(op, args);
}

Values apply_donating(const Op& op, Args args, uint32_t donated) {
  if (Ref<Value> out = apply_small(op, args)) {
    Values results;
    results.push_back(std::move(out));
    return results;
  }
  return apply_further(op, args, donated);
}

Values apply_further(const Op& op, Args args, uint32_t donated) {
  const bool is_plain = (donated != 0 || op.scalar != nullptr || op.reduction != nullptr) &&
                        op.cls.plain.load(std::memory_order_relaxed) && runs_at_once() &&
                        tags_of(args) == Value::kRaw && !leaves_alone(op, args);
  const bool has_kernel = op.scalar != nullptr || op.reduction != nullptr || op.cls.has_kernel();
  return is_plain && has_kernel ? launch(op, args, donated, 1) : apply_any(op, args);
}

Ref<Value> apply_one(const Op& op, Args args) {
  if (Ref<Value> out = apply_small(op, args)) return out;
  return std::move(apply_any(op, args)[0]);
}

// What inference insists on that the body does not.
static void insist(const Op& op, Args args) {
  Specs specs;
  for (Value* arg : args) specs.push_back(static_cast<RawTensor*>(arg)->spec());
  infer(op, specs);
}

bool apply_raw(const Op& op, Args args, Values& out) {
  if (leaves_alone(op, args)) {
    out.push_back(Ref<Value>(args[0]));
    return true;
  }
  if (op.scalar == nullptr && applies_creation(op, args, out)) return true;
  if (op.scalar != nullptr || op.reduction != nullptr || op.cls.has_kernel()) {
    out = launch(op, args);
    return true;
  }
  if (&op.cls != &registry().constant()) {
    if (op.cls.infer != nullptr) insist(op, args);
    return apply_body(op, args, out);
  }
  if (args.empty()) {
    fail(ErrorKind::kDispatch, said::op("Const"),
         "at least one tensor-like must be given, since it says what kind the result is",
         said::got("none"), said::fix("pass any tensor-like"));
  }
  const Spec like = static_cast<RawTensor*>(args[0])->spec();
  out.push_back(make_const(op, &like));
  return true;
}

bool apply_shape(const Op& op, Args args, Values& out) {
  Specs specs;
  for (Value* arg : args) specs.push_back(spec_of(op.name(), *arg));
  if (&op.cls == &registry().constant()) {
    out.push_back(make_ref<ShapeTensor>(spec_of_const(op, &specs[0])));
    return true;
  }
  const bool is_known = op.scalar != nullptr || op.reduction != nullptr || op.cls.infer != nullptr;
  if (!is_known) return apply_body(op, args, out);
  for (Spec& spec : infer(op, specs)) {
    for (int64_t size : spec.shape) {
      if (size != kUnknownSize) continue;
      fail(ErrorKind::kShape, said::op(op.name()),
           "the shape of the result depends on the elements, which a ShapeTensor has not; apply it "
           "to tensors with elements.",
           said::missing("elements"));
    }
    out.push_back(make_ref<ShapeTensor>(std::move(spec)));
  }
  return true;
}

}  // namespace tensorlike
