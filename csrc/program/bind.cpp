// Binding a program to sizes, and running it.
#include <algorithm>

#include "op/registry.h"
#include "program/program.h"
#include "program/reader.h"
#include "tensor/body.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

constexpr size_t kMostBound = 64;  // sizes for which ops are kept

int64_t whole(const AttrExpr& expr, std::span<const Spec> variables) {
  if (expr.kind == AttrExpr::Kind::kLiteral) return std::get<int64_t>(expr.literal);
  if (expr.kind == AttrExpr::Kind::kDim) {
    return variables[static_cast<size_t>(expr.slot)].shape[static_cast<size_t>(expr.dim)];
  }
  const int64_t a = whole(expr.parts[0], variables);
  const int64_t b = whole(expr.parts[1], variables);
  int64_t out = 0;
  const bool is_wide =
      expr.attr == "add" ? __builtin_add_overflow(a, b, &out) : __builtin_mul_overflow(a, b, &out);
  if (is_wide) fail(ErrorKind::kOverflow, said::argument("a size"), "must fit 64 bits");
  return out;
}

std::string shape_text(const Program& program, int variable) {
  const std::string text = program.describe(variable);
  return text.substr(text.find('('));
}

}  // namespace

Attr evaluate(const AttrExpr& expr, std::span<const Spec> variables) {
  if (expr.kind != AttrExpr::Kind::kTuple) return whole(expr, variables);
  std::vector<int64_t> elements;
  elements.reserve(expr.parts.size());
  for (const AttrExpr& part : expr.parts) elements.push_back(whole(part, variables));
  return elements;
}

Ref<const Op> op_for(const Program::Step& step, std::span<const Spec> variables) {
  if (step.exprs.empty()) return step.op;
  const OpClass& cls = step.op->cls;
  std::vector<Attr> attrs = step.op->attrs;
  for (const auto& [index, expr] : step.exprs) {
    Attr value = evaluate(expr, variables);
    if (std::holds_alternative<double>(attrs[index])) {
      value = static_cast<double>(std::get<int64_t>(value));
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

std::vector<int64_t> Program::sizes_of(const char* who, std::span<const Spec> given) const {
  if (given.size() != inputs_.size()) {
    fail(ErrorKind::kShape, said::op(who), "one value for each of ", inputs_.size(),
         " inputs is needed", said::got(given.size()));
  }
  std::vector<int64_t> sizes(roots_.size(), kUnknownSize);
  for (size_t i = 0; i < given.size(); ++i) {
    const Variable& wanted = variables_[static_cast<size_t>(inputs_[i])];
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
      int64_t& known = sizes[static_cast<size_t>(root - roots_.begin())];
      fits = known == kUnknownSize || known == size;
      if (!fits) {
        fail(ErrorKind::kShape, said::op(who), said::argument(wanted.name), "must have the shape ",
             shape_text(*this, inputs_[i]), " with ", root->name, "=", known,
             said::got(to_string(given[i].shape)));
      }
      known = size;
    }
    if (!fits) {
      fail(ErrorKind::kShape, said::op(who), said::argument(wanted.name), "must have the shape ",
           shape_text(*this, inputs_[i]), said::got(to_string(given[i].shape)));
    }
    if (given[i].dtype != wanted.spec.dtype) {
      fail(ErrorKind::kDType, said::op(who), said::argument(wanted.name), "must be ",
           name_of(wanted.spec.dtype), said::got(name_of(given[i].dtype)));
    }
  }
  return sizes;
}

std::shared_ptr<const Program::Bound> Program::bind(const std::vector<int64_t>& sizes) {
  if (const auto known = bound_.find(sizes); known != bound_.end()) return known->second;
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
  for (const Step& step : steps_) {
    try {
      made->ops.push_back(op_for(step, made->specs));
      Specs given;
      for (int input : step.inputs) given.push_back(made->specs[static_cast<size_t>(input)]);
      Specs found = infer_any(*made->ops.back(), given);
      for (size_t i = 0; i < step.outputs.size() && i < found.size(); ++i) {
        made->specs[static_cast<size_t>(step.outputs[i])] = std::move(found[i]);
      }
      check_sizes(step, made->specs);
    } catch (const Error& error) {
      rethrow(error, step.place);
    }
  }
  for (const Guard& guard : guards_) check(guard, made->specs);
  if (bound_.size() >= kMostBound) bound_.clear();
  return bound_[sizes] = made;
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
    if (is_same) continue;
    fail(ErrorKind::kShape, said::op(step.op->name()), "the result must be ", describe(output),
         ", as it was when the program was recorded", said::got(to_string(found)),
         said::fix("record a program for such sizes"));
  }
}

void Program::check(const Guard& guard, std::span<const Spec> specs) const {
  const int64_t a = whole(guard.a, specs);
  const int64_t b = whole(guard.b, specs);
  if (holds(a, b, guard.how) == guard.answer) return;
  ErrorFields fields;
  fields.op = "run";
  fields.argument = "sizes";
  fields.must = tensorlike::text("must be so that ", text_of(guard.a), " ", guard.how, " ",
                                 text_of(guard.b), " is ", guard.answer ? "true" : "false",
                                 ", as it was when the program was recorded");
  fields.got = tensorlike::text(a, " and ", b);
  fields.fix = "record a program for such sizes";
  fields.place = guard.place;
  throw Error(ErrorKind::kShape, std::move(fields));
}

Values Program::run(std::span<const int> results, Args given) {
  is_recorded = false;
  std::vector<Spec> specs;
  for (Value* value : given) specs.push_back(spec_of("run", *value));
  const auto bound = bind(sizes_of("run", specs));
  std::vector<int> readers(variables_.size(), 0);
  for (const Step& step : steps_) {
    for (int input : step.inputs) ++readers[static_cast<size_t>(input)];
  }
  for (int result : results) ++readers[static_cast<size_t>(result)];
  std::vector<Ref<Value>> values(variables_.size());
  for (size_t i = 0; i < variables_.size(); ++i) values[i] = variables_[i].value;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    values[static_cast<size_t>(inputs_[i])] = Ref<Value>(given[i]);
  }
  SmallVector<Value*, 8> args;
  for (size_t at = 0; at < steps_.size(); ++at) {
    const Step& step = steps_[at];
    args.clear();
    for (int input : step.inputs) args.push_back(values[static_cast<size_t>(input)].get());
    Values found = apply(*bound->ops[at], {args.data(), args.size()});
    for (int input : step.inputs) {
      if (--readers[static_cast<size_t>(input)] == 0) values[static_cast<size_t>(input)] = nullptr;
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const size_t output = static_cast<size_t>(step.outputs[i]);
      if (readers[output] > 0) values[output] = std::move(found[i]);
    }
  }
  Values out;
  for (int result : results) out.push_back(values[static_cast<size_t>(result)]);
  return out;
}

}  // namespace tensorlike
