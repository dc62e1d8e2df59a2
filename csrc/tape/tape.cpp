#include "tape/tape.h"

#include <algorithm>

#include "dispatch/dispatcher.h"
#include "op/registry.h"
#include "tape/gradient.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {

std::string (*user_line)() = nullptr;

namespace {

std::atomic<uint64_t> next_sequence{1};

struct ThreadState {
  int innermost = 0;
  int paused = -1;
  Cut cut;
};

ThreadState& state() {
  static thread_local ThreadState instance;
  return instance;
}

bool is_differentiable(DType dtype) { return kind_of(dtype) == Kind::kFloating; }

// The innermost tape among the tracers.
Tape* innermost_tape(Args args) {
  Tape* top = nullptr;
  for (Value* arg : args) {
    if (arg->tag != Value::kTracer) continue;
    Tape* tape = static_cast<Tracer*>(arg)->tape.get();
    if (top == nullptr || tape->level > top->level) top = tape;
  }
  return top;
}

const Gradients* declared_gradients(const Op& op) {
  if (op.scalar != nullptr) return &op.scalar->gradients;
  if (op.reduction != nullptr) return &op.reduction->gradients;
  return op.cls.gradients.differentiable || op.grad_rule().run != nullptr ? &op.cls.gradients
                                                                          : nullptr;
}

void remember_cut(const Op& op, int level) {
  state().cut = {Ref<const Op>(&op), user_line != nullptr ? user_line() : std::string(), level};
}

void record(const Op& op, Args args, Tape& tape, const SmallVector<Ref<Value>, 4>& primals,
            const Gradients& gradients, Values& out) {
  Ref<Node> node = make_ref<Node>();
  node->op = Ref<const Op>(&op);
  node->sequence = next_sequence.fetch_add(1, std::memory_order_relaxed);
  uint32_t inputs_read = gradients.inputs_read;
  uint32_t outputs_read = gradients.outputs_read;
  if (const GradRule& rule = op.grad_rule(); rule.run != nullptr) {
    inputs_read = rule.inputs_read;
    outputs_read = rule.outputs_read ? ~0U : 0U;
  }
  for (const Ref<Value>& value : out) node->outputs.push_back(spec_of(op.name(), *value));
  bool same = true;
  Specs specs;
  for (size_t i = 0; i < args.size(); ++i) {
    specs.push_back(spec_of(op.name(), *primals[i]));
    same = same && specs[i].dtype == node->outputs[0].dtype &&
           specs[i].shape == node->outputs[0].shape;
    Edge edge;
    if (args[i]->tag == Value::kTracer && static_cast<Tracer*>(args[i])->tape.get() == &tape &&
        is_differentiable(specs[i].dtype)) {
      edge = static_cast<Tracer*>(args[i])->edge;
    }
    node->inputs.push_back(std::move(edge));
    const bool is_read = (inputs_read >> std::min<size_t>(i, 31) & 1U) != 0;
    node->saved_inputs.push_back(is_read ? primals[i] : Ref<Value>());
  }
  if (!same) node->input_specs = std::make_unique<Specs>(std::move(specs));
  for (size_t i = 0; i < out.size(); ++i) {
    const bool is_read = (outputs_read >> std::min<size_t>(i, 31) & 1U) != 0;
    node->saved_outputs.push_back(is_read ? out[i] : Ref<Value>());
    if (!is_differentiable(node->outputs[i].dtype)) continue;
    out[i] = make_ref<Tracer>(std::move(out[i]), Edge{node, static_cast<int>(i)}, Ref<Tape>(&tape));
  }
  tape.recorded.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Cut& last_cut() { return state().cut; }

Tape& base_tape() {
  static Tape* tape = [] {
    Tape* made = new Tape(0);
    made->retain();
    return made;
  }();
  return *tape;
}

int innermost_level() { return state().innermost; }
int paused_level() { return state().paused; }
void set_paused_level(int level) { state().paused = level; }

Ref<Tape> open_tape() {
  state().cut = {};
  return make_ref<Tape>(++state().innermost);
}

void close_tape(Tape& tape) {
  tape.is_open = false;
  state().innermost = std::min(state().innermost, tape.level - 1);
}

Ref<Tracer> make_leaf(Ref<Value> primal, Ref<Tape> tape) {
  Ref<Node> node = make_ref<Node>();
  node->sequence = next_sequence.fetch_add(1, std::memory_order_relaxed);
  node->outputs.push_back(spec_of("requires_grad", *primal));
  if (!is_differentiable(node->outputs[0].dtype)) {
    fail(ErrorKind::kDType, "requires_grad: only floating-point tensors carry gradients; got ",
         name_of(node->outputs[0].dtype), "; cast it: x.astype(float32).");
  }
  return make_ref<Tracer>(std::move(primal), Edge{node, 0}, std::move(tape));
}

void Node::release_graph() {
  is_released = true;
  inputs.clear();
  saved_inputs.clear();
  saved_outputs.clear();
  input_specs.reset();
}

// A chain of a million nodes must not die recursively: nodes that die while another one does wait
// in a list.
void Node::destroy() {
  static thread_local std::vector<Node*>* dying = nullptr;
  if (dying != nullptr) {
    dying->push_back(this);
    return;
  }
  std::vector<Node*> list{this};
  dying = &list;
  while (!list.empty()) {
    Node* node = list.back();
    list.pop_back();
    delete node;
  }
  dying = nullptr;
}

bool apply_tracer(const Op& op, Args args, Values& out) {
  Tape* tape = innermost_tape(args);
  if (tape == nullptr) return false;
  if (!tape->is_open) {
    fail(ErrorKind::kAutodiff, op.name(), ": a tracer must not outlive its tape; got one of a tape "
         "that is closed; return values from the differentiated function instead of keeping them.");
  }
  SmallVector<Ref<Value>, 4> primals;
  SmallVector<Value*, 4> pointers;
  bool wants_grad = false;
  for (Value* arg : args) {
    Tracer* tracer = arg->tag == Value::kTracer ? static_cast<Tracer*>(arg) : nullptr;
    const bool is_ours = tracer != nullptr && tracer->tape.get() == tape;
    wants_grad = wants_grad || (is_ours && tracer->edge.node);
    primals.push_back(is_ours ? tracer->primal : Ref<Value>(arg));
    pointers.push_back(primals.back().get());
  }
  const Args values(pointers.data(), pointers.size());
  if (&op.cls == &registry().constant()) {
    for (Ref<Value>& value : apply(op, values)) {
      out.push_back(make_ref<Tracer>(std::move(value), Edge{}, Ref<Tape>(tape)));
    }
    return true;
  }
  if (!wants_grad || tape->level <= paused_level()) {
    out = apply(op, values);
    return true;
  }
  // Without a rule of its own, an op is differentiated through its body.
  const Gradients* gradients = declared_gradients(op);
  const bool has_rule = gradients != nullptr &&
                        (!gradients->rules.empty() || op.grad_rule().run != nullptr);
  if (!has_rule) {
    if (op.scalar != nullptr && op.scalar->expansion != nullptr && op.scalar->spec.derived) {
      out = run_body(*op.scalar->expansion, op, args);
      return true;
    }
    if (gradients != nullptr && gradients->differentiable && apply_body(op, args, out)) return true;
    remember_cut(op, tape->level);
    out = apply(op, values);
    return true;
  }
  out = apply(op, values);
  record(op, args, *tape, primals, *gradients, out);
  return true;
}

}  // namespace tensorlike
