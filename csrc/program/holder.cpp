// What ops that hold programs are: their forms, and which numbers go together.
#include "program/holder.h"

#include <algorithm>

#include "op/registry.h"
#include "program/draws.h"

namespace tensorlike {
namespace {

const Holder::Form kForms[] = {
    {"Call", "program", 1, {}},
    {"Cond", "cond", 2, {}},
    {"WhileLoop", "while_loop", 2, {"limit"}},
    {"ScanLoop", "scan", 1, {"carries", "rows", "reverse"}},
    {"RowBranch", "IfElse", 2, {"inputs", "merged"}},
};

// The class of ops of the core that hold programs of this kind.
const OpClass& class_of(Holder::Kind kind) {
  static const auto& classes = *[] {
    auto* made = new std::vector<const OpClass*>;
    for (const Holder::Form& form : kForms) {
      OpSpec spec;
      spec.name = form.name;
      spec.args = {{"x", Category::kAll, true}};
      spec.outputs = -1;
      made->push_back(new OpClass(std::move(spec), &op_base_type()));
    }
    return made;
  }();
  return *classes[static_cast<size_t>(kind)];
}

}  // namespace

const Holder::Form& Holder::form_of(Kind kind) { return kForms[static_cast<size_t>(kind)]; }

Holder::Kind Holder::kind_of_name(std::string_view name) {
  for (size_t i = 0; i < std::size(kForms); ++i) {
    if (kForms[i].name == name) return static_cast<Kind>(i);
  }
  fail(ErrorKind::kArgument, "an op that holds programs must be of a known kind",
       said::got("'", name.substr(0, 40), "'"));
}

Holder::Holder(Kind kind, std::vector<Ref<Stretch>> calls, std::vector<Attr> params)
    : kind(kind), calls(std::move(calls)), params(std::move(params)) {
  check();
}

// Everything else reads these numbers without asking again.
void Holder::check() const {
  const Form& form = this->form();
  const auto must = [&](bool holds, const char* what) {
    if (!holds) fail(ErrorKind::kArgument, said::op(std::string(form.who)), what);
  };
  must(calls.size() == form.calls && params.size() == form.params.size(),
       "must have the programs and parameters of its kind");
  const size_t given = calls[0]->given.size(), results = calls[0]->results.size();
  const auto is_count = [&](size_t param, size_t most) {
    const auto* count = std::get_if<int64_t>(&params[param]);
    return count != nullptr && *count >= 0 && static_cast<uint64_t>(*count) <= most;
  };
  if (calls.size() == 2) {
    must(calls[1]->given.size() == given, "both programs must be given the same");
    must(kind == Kind::kWhileLoop || calls[1]->results.size() == results,
         "both programs must give as many results");
  }
  if (kind == Kind::kWhileLoop) {
    must(results == 1 && calls[1]->results.size() <= given,
         "must have one predicate, and a next carry for each");
    const auto* limit = std::get_if<int64_t>(&params[0]);
    must(std::holds_alternative<Nothing>(params[0]) || (limit != nullptr && *limit >= 0),
         "must have a number of steps as its limit, or none");
  } else if (kind == Kind::kScanLoop) {
    must(is_count(0, std::min(given, results)) && is_count(1, given - count_of(0)) &&
             count_of(1) > 0 && std::holds_alternative<bool>(params[2]),
         "must have a next carry for each, and rows to go along");
  } else if (kind == Kind::kRowBranch) {
    must(is_count(0, given) && is_count(1, results), "must have rows among what it is given");
  }
}

size_t Holder::inputs() const {
  const bool has_condition = kind == Kind::kCond || kind == Kind::kRowBranch;
  return calls[0]->given.size() + (has_condition ? 1 : 0);
}

Values Holder::apply(Args given) const {
  const auto is_shape = [](const Value* x) { return x->tag == Value::kShape; };
  if (given.empty() || !std::all_of(given.begin(), given.end(), is_shape)) return run(given);
  std::vector<Spec> specs;
  for (const Value* x : given) specs.push_back(static_cast<const ShapeTensor*>(x)->spec());
  Values out;
  for (Spec& spec : infer(specs)) out.push_back(make_ref<ShapeTensor>(std::move(spec)));
  return out;
}

bool Holder::draws() const {
  return std::any_of(calls.begin(), calls.end(), [](const auto& call) { return call->draws(); });
}

std::string Holder::text() const {
  if (kind == Kind::kCall) return calls[0]->name();
  std::string out(form().name);
  for (size_t i = 0; i < calls.size(); ++i) out += (i == 0 ? "(" : ", ") + calls[i]->name();
  return out + ")";
}

HoldingOp::HoldingOp(Ref<Holder> held) : Op(class_of(held->kind)), holder(std::move(held)) {}

Ref<const Op> op_around(const Ref<Holder>& holder) {
  if (embedded_op_around != nullptr) return embedded_op_around(holder);
  return make_ref<HoldingOp>(holder);
}

const Holder* holder_of(const Op& op) {
  if (const auto* own = dynamic_cast<const HoldingOp*>(&op)) return own->holder.get();
  return embedded_holder_of != nullptr ? embedded_holder_of(op) : nullptr;
}

}  // namespace tensorlike
