// Binding a program to sizes.
#include <algorithm>

#include "op/registry.h"
#include "program/late_sizes.h"
#include "program/literal_sizes.h"
#include "program/program.h"
#include "program/reader.h"
#include "tensor/body.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

constexpr size_t kMostBound = 64;  // sizes for which ops are kept

std::string shape_text(const Program& program, int variable) {
  const std::string text = program.describe(variable);
  return text.substr(text.find('('));
}

Program* program_of_number(const SizeNumber& number) {
  return std::visit([](auto value) { return program_of(value); }, number);
}

}  // namespace

SizeNumber number_of(const AttrExpr& expr, std::span<const Spec> variables,
                     CalculateNumber calculate) {
  if (expr.kind == AttrExpr::Kind::kLiteral) return number_in(expr);
  if (expr.kind == AttrExpr::Kind::kDim) {
    return variables[static_cast<size_t>(expr.slot)].shape[static_cast<size_t>(expr.dim)];
  }
  SmallVector<SizeNumber, 2> parts;
  for (const AttrExpr& part : expr.parts) parts.push_back(number_of(part, variables, calculate));
  return calculate(expr.attr, {parts.data(), parts.size()});
}

int64_t whole(const AttrExpr& expr, std::span<const Spec> variables, CalculateNumber calculate) {
  const SizeNumber found = number_of(expr, variables, calculate);
  const auto* const size = std::get_if<int64_t>(&found);
  if (size == nullptr) {
    fail(ErrorKind::kArgument, said::argument("a size"), "must be an integer",
         said::got(to_string(found)));
  }
  return *size;
}

Attr evaluate(const AttrExpr& expr, std::span<const Spec> variables, CalculateNumber calculate) {
  if (expr.kind != AttrExpr::Kind::kTuple) {
    return std::visit([](auto value) { return Attr(value); },
                      number_of(expr, variables, calculate));
  }
  std::vector<int64_t> elements;
  elements.reserve(expr.parts.size());
  for (const AttrExpr& part : expr.parts) elements.push_back(whole(part, variables, calculate));
  return elements;
}

Ref<const Op> op_for(const Program::Step& step, std::span<const Spec> variables,
                     CalculateNumber calculate) {
  std::vector<Attr> values;
  for (const auto& [index, expr] : step.exprs) {
    values.push_back(evaluate(expr, variables, calculate));
  }
  return op_with(step, std::move(values));
}

Ref<const Op> op_with(const Program::Step& step, std::vector<Attr> values) {
  if (step.exprs.empty()) return step.op;
  const OpClass& cls = step.op->cls;
  std::vector<Attr> attrs = step.op->attrs;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t index = step.exprs[i].first;
    Attr& value = values[i];
    const auto* const size = std::get_if<int64_t>(&value);
    if (size != nullptr && std::holds_alternative<double>(attrs[index])) {
      value = static_cast<double>(*size);
    }
    attrs[index] = std::move(value);
  }
  if (const auto* constant = dynamic_cast<const ConstOp*>(step.op.get())) {
    const Ref<ConstOp> made = make_ref<ConstOp>(cls, literal_of(attrs[0]));
    made->dtype = constant->dtype;
    std::copy(attrs.begin() + 1, attrs.end(), made->attrs.begin() + 1);
    return made;
  }
  std::vector<std::pair<std::string, Attr>> named;
  for (size_t i = 0; i < attrs.size(); ++i) {
    named.emplace_back(cls.spec.attrs[i].name, std::move(attrs[i]));
  }
  return make_op(cls, std::move(named));
}

std::vector<int64_t> Program::sizes_of(const char* who, std::span<const int> variables,
                                       std::span<const Spec> given) const {
  if (given.size() != variables.size()) {
    fail(ErrorKind::kShape, said::op(who), "one value for each of ", variables.size(),
         " inputs is needed", said::got(given.size()));
  }
  std::vector<int64_t> sizes(roots_.size(), kUnknownSize);
  for (size_t i = 0; i < given.size(); ++i) {
    const Variable& wanted = variables_[static_cast<size_t>(variables[i])];
    bool fits = given[i].shape.size() == wanted.spec.shape.size();
    for (size_t k = 0; fits && k < given[i].shape.size(); ++k) {
      const int64_t size = given[i].shape[k];
      const Witness witness{wanted.spec.shape[k], wanted.other.shape[k]};
      if (witness.is_known()) {
        fits = size == witness.first;
        continue;
      }
      const auto root = std::find_if(roots_.begin(), roots_.end(), [&](const Root& candidate) {
        return candidate.witness == witness;
      });
      if (root == roots_.end()) continue;
      int64_t& known = sizes[static_cast<size_t>(root - roots_.begin())];
      fits = known == kUnknownSize || known == size;
      if (!fits) {
        fail(ErrorKind::kShape, said::op(who), said::argument(wanted.name), "must have the shape ",
             shape_text(*this, variables[i]), " with ", root->name, "=", known,
             said::got(to_string(given[i].shape)));
      }
      known = size;
    }
    if (!fits) {
      fail(ErrorKind::kShape, said::op(who), said::argument(wanted.name), "must have the shape ",
           shape_text(*this, variables[i]), said::got(to_string(given[i].shape)));
    }
    if (given[i].dtype != wanted.spec.dtype) {
      fail(ErrorKind::kDType, said::op(who), said::argument(wanted.name), "must be ",
           name_of(wanted.spec.dtype), said::got(name_of(given[i].dtype)));
    }
  }
  return sizes;
}

bool Program::may_be(int variable, DType dtype, const Dims& shape) const {
  const Variable& wanted = variables_[static_cast<size_t>(variable)];
  bool fits = wanted.spec.dtype == dtype && wanted.spec.shape.size() == shape.size();
  for (size_t k = 0; fits && k < shape.size(); ++k) {
    const Witness witness{wanted.spec.shape[k], wanted.other.shape[k]};
    fits = !witness.is_known() || witness.first == shape[k];
  }
  return fits;
}

std::shared_ptr<const Program::Bound> Program::bind(const std::vector<int64_t>& sizes) {
  if (const auto known = bound_.find(sizes); known != bound_.end()) return known->second;
  if (is_bound_late()) {
    const Root& root = found_[0];
    fail(ErrorKind::kShape, said::op("bind"),
         said::argument(variables_[static_cast<size_t>(root.variable)].name),
         "must not have a size that follows from elements", said::got(describe(root.variable)),
         said::fix("run the program"));
  }
  auto made = std::make_shared<Bound>();
  made->ops.reserve(steps_.size());
  if (!has_unknown_sizes()) {
    for (const Step& step : steps_) made->ops.push_back(step.op);
    return bound_[sizes] = made;
  }
  made->specs.resize(variables_.size());
  for (size_t i = 0; i < variables_.size(); ++i) {
    const Variable& variable = variables_[i];
    if (variable.role == Role::kResult) continue;
    Spec& spec = made->specs[i] = variable.spec;
    for (int64_t& size : spec.shape) {
      for (size_t r = 0; r < roots_.size(); ++r) {
        if (variable.role == Role::kInput && size == roots_[r].witness.first) {
          size = sizes[r];
          break;
        }
      }
    }
  }
  const bool stands = live_witnesses > 0 &&
                      (infers_by_witnesses || std::any_of(sizes.begin(), sizes.end(), stands_for));
  for (const Step& step : steps_) {
    made->ops.push_back(step.op);
    try {
      made->ops.back() = op_for(step, made->specs);
      Specs given;
      for (int input : step.inputs) given.push_back(made->specs[static_cast<size_t>(input)]);
      Specs found = infer_any(*made->ops.back(), given);
      for (size_t i = 0; i < step.outputs.size() && i < found.size(); ++i) {
        made->specs[static_cast<size_t>(step.outputs[i])] = std::move(found[i]);
      }
      check_sizes(step, made->specs);
    } catch (const Error& error) {
      if (!stands || !spec_as_recorded(step, made->specs)) rethrow(error, step.place);
    }
  }
  for (const Guard& guard : guards_) {
    const bool is_assumed = stands && !guard.op.empty();  // whoever runs it with sizes asks again
    if (!is_assumed) check(guard, made->specs);
  }
  // What stands for another program's sizes stands for them as long as that lives.
  if (stands) return made;
  if (bound_.size() >= kMostBound) bound_.clear();
  return bound_[sizes] = made;
}

bool Program::spec_as_recorded(const Step& step, std::vector<Spec>& specs) const {
  for (int output : step.outputs) {
    const Variable& recorded = variables_[static_cast<size_t>(output)];
    Spec found = recorded.spec;
    if (recorded.bases.size() < found.shape.size()) return false;
    for (size_t i = 0; i < found.shape.size(); ++i) {
      if (recorded.bases[i] < 0) continue;
      const AttrExpr& expr = bases_[static_cast<size_t>(recorded.bases[i])].expr;
      if (!are_known(expr, specs)) return false;
      found.shape[i] = whole(expr, specs);
    }
    specs[static_cast<size_t>(output)] = std::move(found);
  }
  return true;
}

// A dimension that came out the same for both witnesses, or as a size itself, need not do so for
// all sizes: the first 100 rows are fewer where there are fewer.
void Program::check_sizes(const Step& step, std::span<const Spec> specs) const {
  for (int output : step.outputs) {
    const Variable& recorded = variables_[static_cast<size_t>(output)];
    const Dims& found = specs[static_cast<size_t>(output)].shape;
    bool is_same = found.size() == recorded.spec.shape.size();
    for (size_t i = 0; is_same && i < recorded.bases.size(); ++i) {
      const int base = recorded.bases[i];
      const int64_t wanted =
          base < 0 ? recorded.spec.shape[i] : whole(bases_[static_cast<size_t>(base)].expr, specs);
      is_same = found[i] == wanted;
    }
    if (!is_same) refuse_sizes(step, output, found);
  }
}

void Program::refuse_sizes(const Step& step, int output, const Dims& found) const {
  fail(ErrorKind::kShape, said::op(step.op->name()), "the result must be ", describe(output),
       ", as it was when the program was recorded", said::got(to_string(found)),
       said::fix("record a program for such sizes"));
}

void Program::check(const Guard& guard, std::span<const Spec> specs,
                    CalculateNumber calculate) const {
  const SizeNumber a = number_of(guard.a, specs, calculate);
  const SizeNumber b = number_of(guard.b, specs, calculate);
  if (holds(a, b, guard.how) == guard.answer) {
    // Run on another program's variables, it is a part of that, and asks the same of its sizes.
    for (const SizeNumber& number : {a, b}) {
      Program* owner = live_witnesses > 0 ? program_of_number(number) : nullptr;
      if (owner == nullptr || owner == this || !owner->is_recorded) continue;
      owner->require(a, b, guard.how, guard.answer, guard.place);
      return;
    }
    return;
  }
  ErrorFields fields;
  fields.op = guard.op.empty() ? "run" : guard.op;
  fields.argument = "sizes";
  fields.must = tensorlike::text("must be so that ", text_of(guard.a), " ", guard.how, " ",
                                 text_of(guard.b), " is ", guard.answer ? "true" : "false",
                                 ", as it was when the program was recorded");
  fields.got = tensorlike::text(to_string(a), " and ", to_string(b));
  fields.fix = "record a program for such sizes";
  fields.place = guard.place;
  throw Error(ErrorKind::kShape, std::move(fields));
}

}  // namespace tensorlike
