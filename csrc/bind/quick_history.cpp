#include "bind/quick_history.h"

#include <algorithm>
#include <optional>

#include "bind/quick_guards.h"
#include "bind/rules.h"
#include "tape/gradient.h"

namespace tensorlike::bind {
namespace {

constexpr size_t kMostTapes = 16;

Values under(const Tape& tape, Args given) {
  Values found;
  for (Value* value : given) {
    const bool is_on_it =
        value->tag == Value::kTracer && static_cast<Tracer*>(value)->tape.get() == &tape;
    found.push_back(is_on_it ? static_cast<Tracer*>(value)->primal : Ref<Value>(value));
  }
  return found;
}

SmallVector<Value*, 8> pointers_to(const Values& values) {
  SmallVector<Value*, 8> found;
  for (const Ref<Value>& value : values) found.push_back(value.get());
  return found;
}

// The results on the elements under all tapes, recorded on each of them from the outermost on.
Values record_on(std::span<const Ref<Tape>> tapes, const Op& op, Stretch& stretch,
                 const Stretch::Ready& ready, Args given) {
  if (tapes.empty()) return stretch.run(ready, given);
  const Ref<Tape>& tape = tapes.front();
  const Values held = under(*tape, given);
  const SmallVector<Value*, 8> primals = pointers_to(held);
  const Args values(primals.data(), primals.size());
  Values found = record_on(tapes.subspan(1), op, stretch, ready, values);
  const bool is_wanted = std::any_of(given.begin(), given.end(), [&](Value* value) {
    if (value->tag != Value::kTracer) return false;
    const auto& tracer = static_cast<const Tracer&>(*value);
    return tracer.tape == tape && tracer.edge.node;
  });
  if (is_wanted) record_applied(op, given, *tape, values, found);
  return found;
}

}  // namespace

// Elements on tapes that record now, which may be nested.
struct QuickHistory::Recorded {
  std::vector<Ref<Tape>> tapes;  // the innermost first
  // For each value and tape two bits: on it, and with a history there.
  std::vector<uint64_t> kinds;
  std::vector<bool> wanted;

  // False: they are something else.
  bool take(Args given) {
    for (Value* value : given) {
      for (; value->tag == Value::kTracer; value = static_cast<Tracer*>(value)->primal.get()) {
        const Ref<Tape>& tape = static_cast<Tracer*>(value)->tape;
        if (std::find(tapes.begin(), tapes.end(), tape) == tapes.end()) tapes.push_back(tape);
      }
      if (value->tag != Value::kRaw) return false;
    }
    if (tapes.size() > kMostTapes) return false;
    std::sort(tapes.begin(), tapes.end(),
              [](const auto& x, const auto& y) { return x->level > y->level; });
    for (const Ref<Tape>& tape : tapes) {
      if (!tape->is_open || tape->level <= paused_level()) return false;
    }
    for (Value* value : given) describe(value);
    return std::find(wanted.begin(), wanted.end(), true) != wanted.end();
  }

 private:
  void describe(Value* value) {
    uint64_t kind = 0;
    bool has_history = false;
    for (; value->tag == Value::kTracer; value = static_cast<Tracer*>(value)->primal.get()) {
      const auto& tracer = static_cast<const Tracer&>(*value);
      const auto at = std::find(tapes.begin(), tapes.end(), tracer.tape) - tapes.begin();
      const bool is_recorded = static_cast<bool>(tracer.edge.node);
      kind |= uint64_t{is_recorded ? 3U : 1U} << (2 * at);
      has_history = has_history || is_recorded;
    }
    kinds.push_back(kind);
    wanted.push_back(has_history && is_differentiable(static_cast<RawTensor*>(value)->dtype));
  }
};

QuickHistory::QuickHistory(Ref<Op> op, PyObject* said) : op_(std::move(op)) {
  if (said == Py_None) return;
  for (const Object& lives : objects_in(item_of(said, 0))) {
    lives_.push_back(lives.get() == Py_True);
  }
  form_ = Object::share(item_of(said, 1));
}

const QuickHistory::Form* QuickHistory::form_for(const Recorded& recorded) const {
  for (const auto& form : forms_) {
    if (form->kinds == recorded.kinds) return form.get();
  }
  auto made = std::make_shared<Form>();
  made->kinds = recorded.kinds;
  const Object wanted = own(PyTuple_New(static_cast<Py_ssize_t>(recorded.wanted.size())));
  for (size_t i = 0; i < recorded.wanted.size(); ++i) {
    PyTuple_SET_ITEM(wanted.get(), static_cast<Py_ssize_t>(i),
                     PyBool_FromLong(recorded.wanted[i] ? 1 : 0));
  }
  made->object = own(PyObject_CallOneArg(form_.get(), wanted.get()));
  made->op = made->object.get() == Py_None ? op_ : to_op(made->object.get());
  const Holder* holder = holder_of(*made->op);
  made->is_one_node = holder != nullptr && holder->pulled != nullptr;
  made->on_tapes.resize(recorded.tapes.size());
  forms_.push_back(made);
  return made.get();
}

bool QuickHistory::is_plain(const Form& form, const Recorded& recorded, Args given) {
  if (!form.on_elements.holds_on_elements(*form.op, given.size())) return false;
  Values held;
  for (Value* value : given) held.push_back(Ref<Value>(value));
  for (size_t i = 0; i < recorded.tapes.size(); ++i) {
    SmallVector<const Type*, 8> kinds;
    for (const Ref<Value>& value : held) kinds.push_back(value->type);
    if (!form.on_tapes[i].holds(*form.op, {kinds.data(), kinds.size()}, is_rule_of_calls)) {
      return false;
    }
    if (i + 1 == recorded.tapes.size()) break;
    const SmallVector<Value*, 8> pointers = pointers_to(held);
    held = under(*recorded.tapes[i], {pointers.data(), pointers.size()});
  }
  return true;
}

Values QuickHistory::run(Args given) const {
  Recorded recorded;
  if (!recorded.take(given)) return {};
  const Form* form = form_for(recorded);
  const Ref<Op> op = form->op;
  const Holder* holder = holder_of(*op);
  if (holder == nullptr || !is_plain(*form, recorded, given)) return {};
  const bool is_one_node = form->is_one_node;
  const Ref<Stretch> stretch = holder->calls[0];
  std::optional<Stretch::Ready> ready;
  try {
    ready.emplace(stretch->ready(given));
  } catch (const Error&) {  // the long way says what does not fit, or records again
    return {};
  }
  Values found = is_one_node ? record_on(recorded.tapes, *op, *stretch, *ready, given)
                             : stretch->run(*ready, given);
  found.resize(lives_.size());
  for (size_t i = 0; i < lives_.size(); ++i) {
    while (!lives_[i] && found[i]->tag == Value::kTracer) {
      found[i] = static_cast<Tracer&>(*found[i]).primal;
    }
  }
  return found;
}

int QuickHistory::visit(visitproc visit, void* arg) const {
  Py_VISIT(form_.get());
  for (const auto& form : forms_) Py_VISIT(form->object.get());
  return 0;
}

}  // namespace tensorlike::bind
