#include "program/variable.h"

#include <atomic>
#include <cmath>
#include <ostream>

#include "program/deferred.h"

namespace tensorlike::tape {
namespace {

std::atomic<uint64_t> last_id{0};

// Of more elements along an axis than twice this, the middle is left out.
constexpr int64_t kShown = 4;

void print(std::ostream& out, const RawTensor& x, size_t axis, int64_t at) {
  if (axis == x.shape.size()) {
    visit_dtype(x.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T element = x.as<T>()[at];
      if constexpr (is_complex<T>) {
        out << element.re << (element.im < 0 ? "-" : "+") << std::abs(element.im) << "j";
      } else if constexpr (std::is_same_v<T, bool>) {
        out << (element ? "True" : "False");
      } else if constexpr (std::is_integral_v<T>) {
        out << +element;
      } else {
        out << static_cast<double>(element);
      }
    });
    return;
  }
  const int64_t size = x.shape[axis];
  out << '[';
  for (int64_t i = 0; i < size; ++i) {
    if (i == kShown && size > 2 * kShown) {
      out << ", ...";
      i = size - kShown;
    }
    if (i > 0) out << ", ";
    print(out, x, axis + 1, at + i * x.strides[axis]);
  }
  out << ']';
}

}  // namespace

Desc::Desc(std::string name, Spec spec)
    : name(std::move(name)), spec(std::move(spec)), id(last_id.fetch_add(1) + 1) {}

Symbol::Symbol(std::string name, Spec spec)
    : Value(kOther, symbol_type()), desc(make_ref<Desc>(std::move(name), std::move(spec))) {}

Symbol::Symbol(std::string name, Ref<RawTensor> value) : Symbol(std::move(name), value->spec()) {
  value_ = std::move(value);
}

Ref<Value> Symbol::lift(Value& other) {
  if (other.type == type) return Ref<Value>(&other);
  if (other.tag != kRaw) return nullptr;
  return make_ref<Symbol>("constant", Ref<RawTensor>(static_cast<RawTensor*>(&other)));
}

const Ref<RawTensor>& Symbol::value() {
  if (!value_ && tape_ != nullptr) tape_->run_to(index_ + 1);
  if (!value_) {
    fail(ErrorKind::kAutodiff, said::op("value"), "the elements of '", desc->name,
         "' must be known",
         said::got("none: nothing has filled it, or its tape was reset before it ran"),
         said::fix("set_value() fills it, Forward() runs a tape"));
  }
  return value_;
}

void Symbol::fill(Ref<RawTensor> value) {
  value_ = std::move(value);
  tape_ = nullptr;
}

Variable::Variable(std::string name) : Value(kOther, variable_type()), name_(std::move(name)) {}

Variable::Variable(std::string name, Spec desc) : Variable(std::move(name)) {
  held_ = make_ref<Symbol>(name_, std::move(desc));
}

Variable::Variable(std::string name, Ref<RawTensor> value) : Variable(std::move(name)) {
  held_ = make_ref<Symbol>(name_, std::move(value));
}

Symbol& Variable::symbol() const {
  if (!held_) {
    fail(ErrorKind::kAutodiff, said::op("variable"), "'", name_, "' must have a shape and a dtype",
         said::got("an empty one"),
         said::fix("fill it, or put an op's result into it, before it is read"));
  }
  Value* held = held_.get();
  if (held->tag == kTracer) held = static_cast<Tracer*>(held)->primal.get();
  return *static_cast<Symbol*>(held);
}

const Spec& Variable::desc() const { return symbol().desc->spec; }

bool Variable::spec(Spec& out) const {
  if (!held_) return false;
  out = desc();
  return true;
}

Ref<Value> Variable::lift(Value& other) {
  if (other.type == type) return Ref<Value>(&other);
  if (other.tag != kRaw) return nullptr;
  auto lifted = make_ref<Variable>("constant", Ref<RawTensor>(static_cast<RawTensor*>(&other)));
  lifted->set_wants_gradient(false);
  return lifted;
}

Ref<RawTensor> Variable::value() {
  const Ref<RawTensor> found = symbol().value();
  found->ready("value");
  return found;
}

double Variable::item() {
  const std::vector<double> found = elements<double>();
  if (found.size() != 1) {
    fail(ErrorKind::kShape, said::op("item"), "'", name_, "' must have one element",
         said::got("the shape ", to_string(desc().shape)), said::fix("take elements()"));
  }
  return found[0];
}

void Variable::set_value(Ref<RawTensor> value) {
  check_given("set_value", value.get());
  if (held_ && held_->tag != kTracer && symbol().is_unfilled()) {
    const Spec& wanted = desc();
    if (value->dtype != wanted.dtype || !(value->shape == wanted.shape)) {
      fail(ErrorKind::kShape, said::op("variable"), "'", name_, "' was declared as ",
           to_string(wanted), said::got(to_string(value->spec())),
           said::fix("fill it with what was declared"));
    }
    symbol().fill(std::move(value));
    return;
  }
  held_ = make_ref<Symbol>(name_, std::move(value));
  result_of_ = 0;
}

Ref<RawTensor> Variable::take_value() {
  Ref<RawTensor> found = value();
  Symbol& own = symbol();
  if (held_->tag != kTracer && held_->use_count() == 1) own.take();
  return found;
}

VariableHandle Variable::Grad() const {
  return gradient_ ? gradient_ : make_ref<Variable>(name_ + "_grad");
}

std::ostream& operator<<(std::ostream& out, const RawTensor& value) {
  value.ready("print");
  print(out, value, 0, 0);
  return out;
}

std::ostream& operator<<(std::ostream& out, const Ref<RawTensor>& value) { return out << *value; }

}  // namespace tensorlike::tape
