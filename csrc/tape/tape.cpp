#include "tape/tape.h"

#include <algorithm>

#include "base/place.h"
#include "base/stack.h"
#include "dispatch/dispatcher.h"
#include "op/registry.h"
#include "tape/gradient.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {

namespace {

constexpr int kMostNested = 256;  // tracers, one in the other

std::atomic<uint64_t> last_sequence{0};

// Nodes are numbered in the order of their making.
uint64_t next_sequence() {
  if (!references_are_guarded) return last_sequence.fetch_add(1, std::memory_order_relaxed) + 1;
  const uint64_t next = last_sequence.load(std::memory_order_relaxed) + 1;
  last_sequence.store(next, std::memory_order_relaxed);
  return next;
}

struct ThreadState {
  int innermost = 0;
  int paused = -1;
  Cut cut;
  std::vector<Ref<TapeLog>> logs;
};

ThreadState& state() {
  static thread_local ThreadState instance;
  return instance;
}

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

void remember_cut(const Op& op, int level) {
  state().cut = {Ref<const Op>(&op), place_of_user(), level};
}

void describe(const Op& op, const Node& node, int level) {
  TapeLog::Entry entry{Ref<const Op>(&op), node.sequence, level, {}, {}, node.notes->place};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Edge& edge = node.inputs[i];
    entry.inputs.push_back({edge.node ? edge.node->sequence : 0, edge.slot, node.input_spec(i)});
  }
  entry.outputs.assign(node.outputs().begin(), node.outputs().end());
  for (const Ref<TapeLog>& log : state().logs) log->entries.push_back(entry);
}

// What a gradient reads of the inputs and of the outputs, a bit each.
struct Read {
  uint32_t inputs, outputs;
  static bool has(uint32_t bits, size_t i) { return (bits >> std::min<size_t>(i, 31) & 1U) != 0; }
};

Read read_by_gradient(const Op& op, const Gradients& gradients, bool is_replayed) {
  if (is_replayed) return {~0U, gradients.outputs_read};
  if (op.scalar == nullptr && op.reduction == nullptr) {
    if (const GradRule& rule = op.grad_rule(); rule.run != nullptr) {
      const bool reads_any = rule.reads_inputs == nullptr || rule.reads_inputs(op);
      const bool reads = rule.reads_outputs != nullptr ? rule.reads_outputs(op) : rule.outputs_read;
      return {reads_any ? rule.inputs_read : 0U, reads ? ~0U : 0U};
    }
  }
  return {gradients.inputs_read, gradients.outputs_read};
}

// What the rules of some inputs of a function read, a bit each: those of constants never run.
Read read_by_rules(const Gradients& gradients, size_t inputs, uint32_t wanted) {
  Read read{0, 0};
  const auto add = [&](int slot) {
    const size_t place = static_cast<size_t>(slot);
    const size_t output = place - inputs;
    if (place < inputs) {
      read.inputs |= 1U << place;
    } else if (output < static_cast<size_t>(gradients.outputs)) {
      read.outputs |= 1U << output;
    }
  };
  const auto is_wanted = [&](int input) { return (wanted >> input & 1U) != 0; };
  for (const CompiledGrad& rule : gradients.rules) {
    if (!is_wanted(rule.input) && std::none_of(rule.beside.begin(), rule.beside.end(), is_wanted)) {
      continue;
    }
    for (const CompiledStep& step : rule.body->steps) {
      if (step.kind == CompiledStep::Kind::kSize) continue;  // known without the value
      std::for_each(step.args.begin(), step.args.end(), add);
    }
    std::for_each(rule.body->results.begin(), rule.body->results.end(), add);
  }
  return read;
}

// `rules`: of a function, where some inputs may be constants; null: `read` is what is read.
void record(const Op& op, Args args, Tape& tape, Args primals, Read read, const Gradients* rules,
            std::span<Ref<Value>> out) {
  Ref<Node> node = make_ref<Node>();
  node->op = Ref<const Op>(&op);
  node->sequence = next_sequence();
  node->specs = call_spec(op, primals, out);
  node->inputs.reserve(args.size());
  uint32_t wanted = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    Node::Input input;
    if (args[i]->tag == Value::kTracer) {
      const auto* tracer = static_cast<const Tracer*>(args[i]);
      if (tracer->tape.get() == &tape && is_differentiable(node->input_spec(i).dtype)) {
        static_cast<Edge&>(input) = tracer->edge;
        if (input.node) wanted |= 1U << std::min<size_t>(i, 31);
      }
    }
    node->inputs.push_back(std::move(input));
  }
  const bool has_constants = wanted + 1 != 1U << args.size();
  const bool may_read_less = rules != nullptr && (read.inputs | read.outputs) != 0;
  if (has_constants && may_read_less) read = read_by_rules(*rules, args.size(), wanted);
  for (size_t i = 0; i < args.size(); ++i) {
    if (Read::has(read.inputs, i)) node->inputs[i].saved = Ref<Value>(primals[i]);
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (read.outputs != 0) {
      node->saved_outputs.push_back(Read::has(read.outputs, i) ? out[i] : Ref<Value>());
    }
    if (!is_differentiable(node->outputs()[i].dtype)) continue;
    out[i] = make_ref<Tracer>(std::move(out[i]), Edge{node, static_cast<int>(i)}, Ref<Tape>(&tape));
  }
  if (watch_gradients != nullptr || !state().logs.empty()) {
    node->make_notes().place = place_of_user();
    if (!state().logs.empty()) describe(op, *node, tape.level);
  }
  tape.recorded.store(tape.recorded.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

bool is_differentiable(DType dtype) { return kind_of(dtype) >= Kind::kFloating; }

const Gradients& chosen(const Gradients& gradients, const Op& op) {
  if (gradients.match < 0) return gradients;
  const Attr& value = op.attrs[static_cast<size_t>(gradients.match)];
  const auto* word = std::get_if<std::string>(&value);
  const auto* flag = std::get_if<bool>(&value);
  const std::string_view wanted = word != nullptr            ? std::string_view(*word)
                                  : flag != nullptr && *flag ? "true"
                                                             : "false";
  for (const auto& [choice, found] : gradients.choices) {
    if (choice == wanted) return *found;
  }
  return gradients;
}

const Gradients* declared_gradients(const Op& op, bool is_complex) {
  if (op.scalar != nullptr) return &op.scalar->gradients->of(is_complex);
  if (op.reduction != nullptr) return &op.reduction->gradients->of(is_complex);
  const Gradients& gradients = chosen(op.cls.gradients->of(is_complex), op);
  return gradients.differentiable || op.grad_rule().run != nullptr ? &gradients : nullptr;
}

// Only `complex` itself makes complex numbers of real ones; its one rule serves both.
bool has_complex(Args values) {
  for (Value* value : values) {
    if (value->tag == Value::kRaw) {
      if (kind_of(static_cast<const RawTensor&>(*value).dtype) == Kind::kComplex) return true;
      continue;
    }
    Spec spec;
    if (value->spec(spec) && kind_of(spec.dtype) == Kind::kComplex) return true;
  }
  return false;
}

bool has_rule(const Op& op, const Gradients* gradients) {
  return gradients != nullptr && (!gradients->rules.empty() || op.grad_rule().run != nullptr);
}

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

// Each has two levels: its own and that of its leaves.
Ref<Tape> open_tape() {
  state().cut = {};
  Ref<Tape> opened = make_ref<Tape>(state().innermost + 1);
  state().innermost += 2;
  return opened;
}

Ref<Tape> Tape::of_leaves() {
  if (level == 0 || holds_leaves_) return Ref<Tape>(this);
  if (!of_leaves_) {
    of_leaves_ = make_ref<Tape>(level + 1);
    of_leaves_->is_open = is_open.load();
    of_leaves_->holds_leaves_ = true;
  }
  return of_leaves_;
}

void close_tape(Tape& tape) {
  tape.is_open = false;
  if (tape.of_leaves_) tape.of_leaves_->is_open = false;
  state().innermost = std::min(state().innermost, tape.level - 1);
}

Ref<Tracer> make_leaf(Ref<Value> primal, Ref<Tape> tape) {
  Ref<Node> node = make_ref<Node>();
  node->sequence = next_sequence();
  node->specs = make_ref<CallSpec>(Specs(), Specs{spec_of("requires_grad", *primal)});
  if (!is_differentiable(node->outputs()[0].dtype)) {
    const DType dtype = node->outputs()[0].dtype;
    fail(ErrorKind::kDType, said::part("requires_grad"),
         "only floating-point tensors carry gradients", said::got(name_of(dtype)),
         said::fix("cast it: x.astype(float32)"));
  }
  auto accumulator = make_ref<Accumulator>(*node);
  auto leaf = make_ref<Tracer>(std::move(primal), Edge{node, 0}, std::move(tape), accumulator);
  if (leaf->depth > kMostNested) {
    fail(ErrorKind::kAutodiff, said::op("Tracer"), "tracers may be nested ", kMostNested, " deep",
         said::got("deeper"), said::fix("make it of the value that is traced: x.detach()"));
  }
  return leaf;
}

Accumulator::Accumulator(Node& leaf) : leaf_(leaf) { leaf.accumulator = this; }

Accumulator::~Accumulator() {
  if (leaf_.accumulator == this) leaf_.accumulator = nullptr;
}

// Adding may let the embedder's lock go: what another thread has added by then is not overwritten.
void Accumulator::add(const Ref<Value>& more) {
  for (;;) {
    const Ref<Value> before = gradient;
    Ref<Value> sum = more;
    if (before) {
      Value* both[] = {before.get(), more.get()};
      sum = apply_one(registry().scalar_op("add"), both);
    }
    if (!(gradient == before)) continue;
    gradient = std::move(sum);
    return;
  }
}

Notes& Node::make_notes() {
  if (!notes) notes = std::make_unique<Notes>();
  return *notes;
}

void TapeLog::listen() { state().logs.push_back(Ref<TapeLog>(this)); }

bool TapeLog::leave() {
  std::vector<Ref<TapeLog>>& logs = state().logs;
  const auto found = std::find(logs.rbegin(), logs.rend(), this);
  if (found == logs.rend()) return false;
  logs.erase(std::next(found).base());
  return true;
}

void Node::release_graph() {
  is_released = true;
  notes.reset();
  inputs.clear();
  saved_outputs.clear();
}

// A chain of a million nodes must not die recursively: nodes that die while another one does wait
// in a list.
void Node::destroy() {
  static thread_local bool is_busy = false;
  static thread_local Node* waiting = nullptr;
  next_dying_ = waiting;
  waiting = this;
  if (is_busy) return;
  is_busy = true;
  while (waiting != nullptr) {
    Node* node = std::exchange(waiting, waiting->next_dying_);
    delete node;
  }
  is_busy = false;
}

void record_applied(const Op& op, Args args, Tape& tape, Args primals, Values& out) {
  static const Gradients none;
  record(op, args, tape, primals, read_by_gradient(op, none, false), nullptr,
         {out.data(), out.size()});
}

bool apply_tracer(const Op& op, Args args, Values& out) {
  check_stack();
  Tape* tape = innermost_tape(args);
  if (tape == nullptr) return false;
  if (!tape->is_open) {
    fail(ErrorKind::kAutodiff, said::op(op.name()), "a tracer must not outlive its tape",
         said::got("one of a tape that is closed"),
         said::fix("return values from the differentiated function instead of keeping them"));
  }
  SmallVector<Value*, 4> pointers;
  bool wants_grad = false;
  for (Value* arg : args) {
    Tracer* tracer = arg->tag == Value::kTracer ? static_cast<Tracer*>(arg) : nullptr;
    const bool is_ours = tracer != nullptr && tracer->tape.get() == tape;
    wants_grad = wants_grad || (is_ours && tracer->edge.node);
    pointers.push_back(is_ours ? tracer->primal.get() : arg);
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
  // Without a rule of its own, an op is differentiated through its body: now, or when somebody
  // asks.
  const Gradients* gradients = declared_gradients(op, has_complex(values));
  const bool has_own = has_rule(op, gradients);
  const bool has_slope = has_own || (gradients != nullptr && gradients->differentiable);
  const bool is_replayed = !has_own && has_slope && op.is_fused();
  if (!has_own && !is_replayed) {
    if (has_slope && op.scalar == nullptr && apply_body(op, args, out)) return true;
    remember_cut(op, tape->level);
    out = apply(op, values);
    return true;
  }
  const bool is_single = op.scalar != nullptr ? op.scalar->spec.outputs == 1
                                              : op.cls.is_declared && op.cls.spec.outputs == 1;
  if (is_single) {
    out.push_back(apply_one(op, values));
  } else {
    out = apply(op, values);
  }
  const Read read = read_by_gradient(op, *gradients, is_replayed);
  const Gradients* const rules = is_replayed || op.scalar == nullptr ? nullptr : gradients;
  record(op, args, *tape, values, read, rules, {out.data(), out.size()});
  return true;
}

}  // namespace tensorlike
