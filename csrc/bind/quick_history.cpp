#include "bind/quick_history.h"

#include <optional>

#include "bind/quick_guards.h"
#include "bind/rules.h"
#include "tape/gradient.h"

namespace tensorlike::bind {

// Values of one tape that records now, and what is under them.
struct QuickHistory::Recorded {
  Tape* tape = nullptr;
  SmallVector<Value*, 8> primals;
  std::vector<Kind> kinds;

  // False: they are something else.
  bool take(Args given) {
    bool is_any_wanted = false;
    for (Value* value : given) {
      auto* tracer = value->tag == Value::kTracer ? static_cast<Tracer*>(value) : nullptr;
      Value* const primal = tracer == nullptr ? value : tracer->primal.get();
      if (primal->tag != Value::kRaw) return false;
      primals.push_back(primal);
      if (tracer == nullptr) {
        kinds.push_back(Kind::kPlain);
        continue;
      }
      if (tape != nullptr && tracer->tape.get() != tape) return false;
      tape = tracer->tape.get();
      const bool is_wanted =
          tracer->edge.node && is_differentiable(static_cast<RawTensor*>(primal)->dtype);
      kinds.push_back(is_wanted ? Kind::kWanted : Kind::kConstant);
      is_any_wanted = is_any_wanted || is_wanted;
    }
    return is_any_wanted && tape->is_open && tape->level > paused_level();
  }
};

QuickHistory::QuickHistory(PyObject* said) {
  if (said == Py_None) return;
  for (const Object& lives : objects_in(item_of(said, 0))) {
    lives_.push_back(lives.get() == Py_True);
  }
  form_ = Object::share(item_of(said, 1));
}

const QuickHistory::Form* QuickHistory::form_for(const std::vector<Kind>& kinds) const {
  for (const auto& form : forms_) {
    if (form->kinds == kinds) return form.get();
  }
  auto made = std::make_shared<Form>();
  made->kinds = kinds;
  const Object wanted = own(PyTuple_New(static_cast<Py_ssize_t>(kinds.size())));
  for (size_t i = 0; i < kinds.size(); ++i) {
    PyObject* const flag = PyBool_FromLong(kinds[i] == Kind::kWanted ? 1 : 0);
    PyTuple_SET_ITEM(wanted.get(), static_cast<Py_ssize_t>(i), flag);
  }
  made->object = own(PyObject_CallOneArg(form_.get(), wanted.get()));
  if (made->object.get() != Py_None) made->op = to_op(made->object.get());
  forms_.push_back(made);
  return made.get();
}

// Whether `apply` would come to the tape's own rule, and on elements to the core's.
bool QuickHistory::is_plain(const Form& form, Args given) {
  if (!form.on_elements.holds_on_elements(*form.op, given.size())) return false;
  SmallVector<const Type*, 8> kinds;
  for (Value* value : given) kinds.push_back(value->type);
  return form.on_tape.holds(*form.op, {kinds.data(), kinds.size()}, is_rule_of_calls);
}

Values QuickHistory::run(Args given) const {
  Recorded recorded;
  if (!recorded.take(given)) return {};
  const Form* form = form_for(recorded.kinds);
  if (!form->op || !is_plain(*form, given)) return {};
  const Ref<Op> op = form->op;
  const Holder* holder = holder_of(*op);
  if (holder == nullptr || holder->pulled == nullptr) return {};
  const Ref<Stretch> stretch = holder->calls[0];
  const Args primals(recorded.primals.data(), recorded.primals.size());
  std::optional<Stretch::Ready> ready;
  try {
    ready.emplace(stretch->ready(primals));
  } catch (const Error&) {  // the long way says what does not fit, or records again
    return {};
  }
  const size_t results = holder->pulled->results;
  Values found = stretch->run(*ready, primals);
  const Ref<Tape> tape(recorded.tape);
  record_applied(*op, given, *tape, primals, found);
  found.resize(results);
  for (size_t i = 0; i < results; ++i) {
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
