#include "program/late_sizes.h"

#include <algorithm>

#include "tensor/body.h"

namespace tensorlike {
namespace {

// The program that is recorded, of whose unknown sizes a number is made.
Program* recorded_program_of(int64_t a, int64_t b) {
  if (live_witnesses == 0) return nullptr;
  for (int64_t number : {a, b}) {
    Program* const owner = program_of(number);
    if (owner != nullptr && owner->is_recorded) return owner;
  }
  return nullptr;
}

Program* recorded_program_of(const SizeNumber& number) {
  if (const auto* size = std::get_if<int64_t>(&number)) return recorded_program_of(*size, *size);
  Program* const owner = live_witnesses == 0 ? nullptr : program_of(std::get<double>(number));
  return owner != nullptr && owner->is_recorded ? owner : nullptr;
}

SizeNumber calculate_outside(const std::string& how, std::span<const SizeNumber> parts) {
  Program* outer = nullptr;
  for (const SizeNumber& part : parts) {
    if (outer == nullptr) outer = recorded_program_of(part);
  }
  if (outer == nullptr) return calculate_number(how, parts);
  std::vector<Program::Operand> operands;
  for (const SizeNumber& part : parts) {
    const auto* const size = std::get_if<int64_t>(&part);
    if (size == nullptr) {
      operands.emplace_back(std::get<double>(part));
    } else {
      operands.emplace_back(outer->witness_of(*size).value_or(Witness{*size, *size}));
    }
  }
  const Program::Operand made = outer->calculate(how, operands);
  if (const auto* size = std::get_if<Witness>(&made)) return size->first;
  return std::get<double>(made);
}

}  // namespace

bool are_known(const AttrExpr& expr, std::span<const Spec> variables) {
  bool found = true;
  for_each_dim(expr, [&](const AttrExpr& dim) {
    const Dims& shape = variables[static_cast<size_t>(dim.slot)].shape;
    const size_t place = static_cast<size_t>(dim.dim);
    found = found && place < shape.size() && shape[place] != kUnknownSize;
  });
  return found;
}

bool Program::is_of_outer_sizes(Args values, std::span<const Spec> specs) const {
  if (live_witnesses == 0 || !has_unknown_sizes()) return false;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (values[i]->tag == Value::kRaw) continue;
    for (int64_t size : specs[i].shape) {
      const Program* const outer = recorded_program_of(size, size);
      if (outer != nullptr && outer != this) return true;
    }
  }
  return false;
}

bool Program::is_given(std::span<const int> variables) const {
  const auto has = [&](int number) {
    return std::find(variables.begin(), variables.end(), number) != variables.end();
  };
  return std::all_of(inputs_.begin(), inputs_.end(), has) &&
         std::all_of(states_.begin(), states_.end(), has);
}

bool Program::agree(int64_t a, int64_t b, const std::string& place, const std::string& op) {
  const auto x = witness_of(a), y = witness_of(b);
  if (!x || !y) return a == b;
  if (is_taken_for(*x, *y)) return true;
  if (!may_be_equal(*x, *y)) return false;
  equal_.push_back(towards_root(*x, *y));
  require({expression_of(*y), expression_of(*x), "==", true, place, op});
  return true;
}

Program::LateSizes::LateSizes(const Program& program, const std::vector<Ref<Value>>& values)
    : program_(program), specs_(values.size()) {
  for (size_t i = 0; i < values.size(); ++i) {
    note(i, values[i].get());
    if (values[i] && values[i]->tag != Value::kRaw) {
      Value* const value = values[i].get();
      is_outside_ = is_outside_ || program.is_of_outer_sizes({&value, 1}, {&specs_[i], 1});
    }
  }
  if (is_outside_) find_others(values);
}

// Of variables that are not there, what those say that are.
void Program::LateSizes::find_others(const std::vector<Ref<Value>>& values) {
  std::vector<std::pair<Witness, int64_t>> known;
  const auto number_of = [&](const Witness& size) {
    if (size.is_known()) return size.first;
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const auto& one) { return one.first == size; });
    return found == known.end() ? kUnknownSize : found->second;
  };
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t k = 0; values[i] && k < specs_[i].shape.size(); ++k) {
      const Witness size = program_.dimension(static_cast<int>(i), static_cast<int>(k));
      if (number_of(size) == kUnknownSize) known.emplace_back(size, specs_[i].shape[k]);
    }
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]) continue;
    specs_[i] = program_.variables_[i].spec;
    for (size_t k = 0; k < specs_[i].shape.size(); ++k) {
      specs_[i].shape[k] = number_of(program_.dimension(static_cast<int>(i), static_cast<int>(k)));
    }
  }
}

void Program::LateSizes::note(size_t variable, Value* value) {
  if (value != nullptr) specs_[variable] = spec_of("run", *value);
}

Ref<const Op> Program::LateSizes::op(const Step& step) const {
  try {
    for (const auto& [index, expr] : step.exprs) {
      if (knows(expr)) continue;
      fail(ErrorKind::kShape, said::op(step.op->name()),
           said::argument(step.op->cls.spec.attrs[index].name),
           "must follow from the sizes of what is given", said::got(program_.text_of(expr)));
    }
    return op_for(step, specs_, is_outside_ ? calculate_outside : calculate_number);
  } catch (const Error& error) {
    program_.rethrow(error, step.place);
  }
}

void Program::LateSizes::note(const Step& step, std::span<const Ref<Value>> found) {
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    note(static_cast<size_t>(step.outputs[i]), found[i].get());
  }
  try {
    if (is_outside_) {
      check(step);
    } else {
      program_.check_sizes(step, specs_);
    }
  } catch (const Error& error) {
    program_.rethrow(error, step.place);
  }
}

// As check_sizes, where sizes that differ may be ones that the other program takes for equal.
void Program::LateSizes::check(const Step& step) const {
  for (int output : step.outputs) {
    const Variable& recorded = program_.variables_[static_cast<size_t>(output)];
    const Dims& found = specs_[static_cast<size_t>(output)].shape;
    bool is_same = found.size() == recorded.spec.shape.size();
    for (size_t i = 0; is_same && i < recorded.bases.size(); ++i) {
      int64_t wanted = recorded.spec.shape[i];
      if (recorded.bases[i] >= 0) {
        const AttrExpr& expr = program_.bases_[static_cast<size_t>(recorded.bases[i])].expr;
        if (!knows(expr)) continue;
        wanted = whole(expr, specs_, calculate_outside);
      }
      if (found[i] == wanted) continue;
      Program* const outer = recorded_program_of(found[i], wanted);
      is_same = outer != nullptr && outer->agree(found[i], wanted, step.place, step.op->name());
    }
    if (!is_same) program_.refuse_sizes(step, output, found);
  }
}

// What an op has assumed of sizes is assumed of those that are given.
bool Program::LateSizes::assume_outside(const Guard& guard) const {
  const SizeNumber a = number_of(guard.a, specs_, calculate_outside);
  const SizeNumber b = number_of(guard.b, specs_, calculate_outside);
  Program* const outer = recorded_program_of(a);
  if (outer == nullptr) return false;
  outer->require(a, b, guard.how, guard.answer, guard.place, guard.op);
  return true;
}

void Program::LateSizes::check_guards() const {
  for (const Guard& guard : program_.guards_) {
    if (is_outside_ && (!knows(guard.a) || !knows(guard.b))) continue;  // the other part's
    if (is_outside_ && guard.how == "==" && guard.answer && !is_real(guard.a)) {
      const int64_t a = whole(guard.a, specs_, calculate_outside);
      const int64_t b = whole(guard.b, specs_, calculate_outside);
      Program* const outer = recorded_program_of(a, b);
      if (outer != nullptr && outer->agree(a, b, guard.place, guard.op)) continue;
    }
    if (is_outside_ && !guard.op.empty() && assume_outside(guard)) continue;
    program_.check(guard, specs_, is_outside_ ? calculate_outside : calculate_number);
  }
}

}  // namespace tensorlike
