// Recording: variables, and steps whose results are inferred as they are added.
#include "program/program.h"

#include <algorithm>
#include <set>

#include "op/counts.h"
#include "op/infer.h"
#include "op/registry.h"
#include "program/literal_sizes.h"
#include "program/named_sizes.h"
#include "program/reader.h"
#include "program/recording.h"
#include "tensor/body.h"
#include "tensor/raw_tensor.h"
#include "tensor/shape_values.h"

namespace tensorlike {
namespace {

constexpr size_t kMostDigits = 18;

// Whether a size of a value from outside is one that is not known. A fraction of another program's
// is a number like any other, which arrays that have nothing to do with it may have.
bool is_unknown(int64_t size, const Program& program) {
  if (live_witnesses == 0) return false;
  const Program* owner = program_of(size);
  if (owner == nullptr || owner == &program) return owner != nullptr;
  const size_t sizes = owner->unknown_sizes().size();
  for (size_t i = 0; i < sizes; ++i) {
    const auto [variable, dimension] = owner->place_of_size(i);
    const Dims& shape = owner->variables()[static_cast<size_t>(variable)].spec.shape;
    if (multiple_of(size, shape[static_cast<size_t>(dimension)])) return true;
  }
  return sizes == 0;
}

}  // namespace

Specs infer_any(const Op& op, std::span<const Spec> inputs) {
  const bool has_rule = op.scalar != nullptr || op.reduction != nullptr || op.cls.infer != nullptr;
  if (has_rule && op.cls.plain.load(std::memory_order_relaxed)) return infer(op, inputs);
  const Inferring inferring;
  return specs_on_shapes(op, inputs, [&](Args shapes) { return apply(op, shapes); });
}

Program::~Program() {
  if (origin_) return;
  std::set<int64_t> released;
  for (const auto* roots : {&roots_, &found_}) {
    for (const Root& root : *roots) {
      if (released.insert(root.witness.first).second) release_witness(root.witness);
    }
  }
  for (const OwnSize& own : own_) release_witness(own.witness);
  for (const Real& real : reals_) release_real(real.stands);
}

int Program::add(Variable variable) {
  const int number = static_cast<int>(variables_.size());
  if (variable.other.shape.size() != variable.spec.shape.size()) variable.other = variable.spec;
  variables_.push_back(std::move(variable));
  forget_runs();
  is_recorded = true;
  if (has_unknown_sizes()) add_bases(number);
  return number;
}

Witness Program::witness_of_dimension(const Dimension& dimension, int variable, int index) {
  for (const Root& root : roots_) {
    if (root.witness.first == dimension.size) return root.witness;
  }
  if (live_witnesses > 0 && !was_written(dimension.size) && program_of(dimension.size) != nullptr) {
    fail(ErrorKind::kShape, said::op("input"), said::argument("shape"),
         "must hold integers, None, names, and unknown sizes of other inputs",
         said::got("a size made of one"));
  }
  if (dimension.size != kUnknownSize) return {dimension.size, dimension.size};
  for (const Root& root : roots_) {
    if (!dimension.name.empty() && root.name == dimension.name) return root.witness;
  }
  const Witness made = take_witness(*this);
  roots_.push_back({dimension.name, made, variable, index, next_extent(made)});
  has_new_size_ = true;
  return made;
}

// Of a size that follows from no other. Which ones a number depends on is known of the first.
Program::Extent Program::next_extent(const Witness& made) const {
  constexpr size_t kCounted = 63;
  const size_t number = std::min(roots_.size() + found_.size(), kCounted);
  return {made.first, uint64_t{1} << number};
}

int Program::add_input(std::string name, DType dtype, std::span<const Dimension> dimensions) {
  const int number = static_cast<int>(variables_.size());
  Variable made{std::move(name), {dtype, {}}, {dtype, {}}, Role::kInput};
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const Witness witness = witness_of_dimension(dimensions[i], number, static_cast<int>(i));
    made.spec.shape.push_back(witness.first);
    made.other.shape.push_back(witness.second);
  }
  inferred_count(made.spec.shape);
  inputs_.push_back(number);
  return add(std::move(made));
}

int Program::capture(Ref<Value> value, const Spec& spec, std::string note, std::string name) {
  for (int64_t size : spec.shape) {
    if (!is_unknown(size, *this)) continue;
    fail(ErrorKind::kShape, said::op("capture"),
         "a value from outside must have sizes that are known",
         said::got("one made of an unknown size"),
         said::fix("make it of values of the program, as zeros_like(x) is"));
  }
  if (!name.empty()) {
    return add({std::move(name), spec, spec, Role::kCaptured, std::move(value), std::move(note)});
  }
  const auto [known, is_new] =
      captured_.try_emplace(value.get(), static_cast<int>(variables_.size()));
  if (!is_new) return known->second;
  return add({next_name(), spec, spec, Role::kCaptured, std::move(value), std::move(note)});
}

void Program::open_sizes(Specs& specs, Specs& others) {
  const size_t known = found_.size();
  for (size_t i = 0; i < specs.size(); ++i) {
    for (size_t k = 0; k < specs[i].shape.size(); ++k) {
      if (specs[i].shape[k] != kUnknownSize) continue;
      if (origin_) {
        fail(ErrorKind::kShape, said::op("insert"),
             "a pass must not add an op whose sizes follow from elements");
      }
      const Witness made = take_witness(*this);
      found_.push_back({"", made, static_cast<int>(variables_.size() + i), static_cast<int>(k),
                        next_extent(made)});
      specs[i].shape[k] = made.first;
      others[i].shape[k] = made.second;
    }
  }
  if (found_.size() > known) rebuild_bases();
}

// What a rule may have counted of dimensions that are known, next to each other.
void Program::note_known(const Dims& shape, const Dims& other) {
  for (size_t begin = 0; begin < shape.size(); ++begin) {
    int64_t product = 1;
    for (size_t i = begin; i < shape.size() && shape[i] == other[i]; ++i) {
      if (__builtin_mul_overflow(product, shape[i], &product)) break;
      if (product >= kPlainNumbers) known_.insert(product);
    }
  }
}

std::vector<int> Program::append(const Op& op, std::span<const int> inputs, std::string place) {
  return append({Ref<const Op>(&op), {}, {inputs.begin(), inputs.end()}, {}, std::move(place)},
                true);
}

std::vector<int> Program::append(Step step) { return append(std::move(step), false); }

std::vector<int> Program::append(Step step, bool reads_attributes) {
  try {
    if (!has_unknown_sizes()) {
      const LiteralSizes sizes(!step.exprs.empty());
      Specs given;
      for (int input : step.inputs) given.push_back(variables_[static_cast<size_t>(input)].spec);
      Specs specs = infer_any(*step.op, given);
      Specs others = specs;
      open_sizes(specs, others);
      return finish(std::move(step), specs, others);
    }
    if (reads_attributes) Reader(*this, step.op.get()).read(step);
    if (!reads_attributes) calculate_again(step);
    Made made = made_of(step);
    take_own_sizes(step, made);
    open_sizes(made.specs, made.others);
    return finish(std::move(step), made.specs, made.others);
  } catch (const Error& error) {
    if (!has_unknown_sizes()) throw;
    rethrow(error, "");
  }
}

// The sizes of a step that was recorded before are calculated as they were then.
void Program::calculate_again(Step& step) {
  if (step.exprs.empty()) return;
  for (const auto& [index, expr] : step.exprs) {
    for (const AttrExpr& part : parts_of(expr)) (void)calculate(part);
  }
  step.op = op_at(Side::kFirst, step, {});
}

Program::Made Program::made_of(const Step& step) try {
  return made_by(step);
} catch (const Error&) {
  if (!assume_divides(step) && !assume_equal(step)) throw;
  return made_by(step);
}

std::vector<int> Program::append(const Op& op, std::span<const int> inputs, std::string place,
                                 const Specs& outputs) {
  Step step{Ref<const Op>(&op), {}, {inputs.begin(), inputs.end()}, {}, std::move(place)};
  return finish(std::move(step), outputs, outputs);
}

std::vector<int> Program::finish(Step step, const Specs& specs, const Specs& others) {
  if (!aside_.empty()) take_back(step.inputs);
  step.before = static_cast<int>(variables_.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    step.outputs.push_back(add({next_name(), specs[i], others[i], Role::kResult}));
  }
  steps_.push_back(std::move(step));
  ++version_;
  return steps_.back().outputs;
}

bool Program::leads_to(const Program& other) const {
  return this == &other || std::any_of(parts_.begin(), parts_.end(), [&](const auto& entry) {
           return entry.second->leads_to(other);
         });
}

void Program::add_part(std::string name, Ref<Program> part) {
  if (part->leads_to(*this)) {
    fail(ErrorKind::kArgument, said::op("add_part"), said::argument("program"),
         "must not hold the program that it is to be a part of");
  }
  parts_[std::move(name)] = std::move(part);
}

void Program::release_values() {
  captured_.clear();
  for (Variable& variable : variables_) variable.value = nullptr;
}

void Program::rename(int variable, std::string name) {
  variables_[static_cast<size_t>(variable)].name = std::move(name);
  ++version_;
}

std::vector<std::string> Program::unknown_sizes() const {
  std::vector<std::string> names;
  for (const Root& root : roots_) names.push_back(root.name);
  return names;
}

std::pair<int, int> Program::place_of_size(size_t number) const {
  return {roots_[number].variable, roots_[number].dimension};
}

std::optional<Witness> Program::witness_of(int64_t number) const {
  const auto [first, last] = base_numbers_.equal_range(number);
  if (first != last) return bases_[at(first->second)].witness;
  for (const Base& base : bases_) {
    const auto found = multiple_of(number, base.witness.first);
    if (!found || witness_of(found->factor)) continue;  // n * m is no multiple of n by a number
    return Witness{number, found->factor * base.witness.second + found->rest};
  }
  return std::nullopt;
}

bool Program::is_of_second_witnesses(int64_t number) const {
  return std::any_of(bases_.begin(), bases_.end(), [&](const Base& base) {
    return multiple_of(number, base.witness.second).has_value();
  });
}

// Numbers that are made of sizes, as somebody would write them.
std::string Program::with_names(std::string message) const {
  for (const Real& real : reals_) {
    message = replaced(std::move(message), to_string(Attr(real.stands)), text_of(real.expr));
  }
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string out;
  for (size_t at = 0; at < message.size();) {
    size_t end = at;
    while (end < message.size() && is_digit(message[end])) ++end;
    const bool is_number = end > at && end - at <= kMostDigits;
    const auto text = is_number ? text_of_number(std::stoll(message.substr(at, end - at)))
                                : std::optional<std::string>();
    if (end == at) ++end;
    out += text.value_or(message.substr(at, end - at));
    at = end;
  }
  return out;
}

std::optional<std::string> Program::text_of_number(int64_t number) const {
  const auto [first, last] = base_numbers_.equal_range(number);
  if (first != last) return text_of(bases_[at(first->second)].expr);
  for (const Base& base : bases_) {
    const auto found = multiple_of(number, base.witness.first);
    if (found) return text_of(expression(base.expr, *found));
  }
  return std::nullopt;
}

void Program::rethrow(const Error& error, const std::string& place) const {
  ErrorFields fields = error.fields();
  for (std::string* field : {&fields.must, &fields.got, &fields.fix}) {
    *field = with_names(std::move(*field));
  }
  if (fields.place.empty()) fields.place = place;
  throw Error(error.kind(), std::move(fields));
}

}  // namespace tensorlike
