#include "program/stretch.h"

#include <algorithm>

#include "program/schedule.h"

namespace tensorlike {
namespace {

constexpr const char* kWho = "program";
constexpr size_t kMostShown = 4;  // ops of a program, in a line

std::string name_of_op(const Op& op) {
  const int mode = op.cls.attr_index("mode");
  if (mode < 0) return op.cls.name();
  const auto* word = std::get_if<std::string>(&op.attrs[static_cast<size_t>(mode)]);
  return word != nullptr ? *word : op.cls.name();
}

}  // namespace

Stretch::Stretch(Ref<Program> program, std::vector<int> given, std::vector<int> results)
    : program(std::move(program)), given(std::move(given)), results(std::move(results)) {
  this->program->take_back(this->results);
  plan();
}

void Stretch::plan() {
  version_ = program->version();
  schedule_ = program->plan(given, results, false);
  outside_ = nullptr;
}

bool Stretch::draws() const { return schedule_->draws; }

std::string Stretch::name() const {
  std::string out;
  size_t shown = 0;
  for (const Program::Step& step : program->steps()) {
    if (shown++ == kMostShown) {
      out += ", ...";
      break;
    }
    out += (out.empty() ? "" : ", ") + name_of_op(*step.op);
  }
  return "Call(" + out + ")";
}

std::string Stretch::text() const {
  return program->text() + "\n(" + program->names_of(given) + ") -> (" +
         program->names_of(results) + ")";
}

std::shared_ptr<const Program::Bound> Stretch::bind(std::span<const Spec> specs) {
  const std::vector<int64_t> sizes = program->sizes_of(kWho, given, specs);
  const auto unknown = std::find(sizes.begin(), sizes.end(), kUnknownSize);
  if (unknown != sizes.end()) {
    const auto [variable, dimension] =
        program->place_of_size(static_cast<size_t>(unknown - sizes.begin()));
    fail(ErrorKind::kShape, said::op(kWho),
         said::argument(program->variables()[static_cast<size_t>(variable)].name),
         "must be given, for its size along ", dimension, " follows from nothing else");
  }
  const auto bound = program->bind(sizes);
  // Sizes that follow from others: of what is no input.
  for (size_t i = 0; i < given.size() && !bound->specs.empty(); ++i) {
    const Spec& wanted = bound->specs[static_cast<size_t>(given[i])];
    if (wanted.shape == specs[i].shape) continue;
    fail(ErrorKind::kShape, said::op(kWho),
         said::argument(program->variables()[static_cast<size_t>(given[i])].name),
         "must have the shape ", to_string(wanted.shape), said::got(to_string(specs[i].shape)));
  }
  return bound;
}

Specs Stretch::infer(std::span<const Spec> specs) {
  const auto bound = bind(specs);
  Specs found;
  for (int result : results) {
    const size_t number = static_cast<size_t>(result);
    found.push_back(bound->specs.empty() ? program->variables()[number].spec
                                         : bound->specs[number]);
  }
  return found;
}

Stretch::Ready Stretch::ready(Args values_given) {
  if (version_ != program->version()) plan();
  program->is_recorded = false;
  SmallVector<Spec, 8> specs;
  for (Value* value : values_given) specs.push_back(spec_of(kWho, *value));
  const std::span<const Spec> all(specs.data(), specs.size());
  // The schedule is kept by the run: it may be planned again meanwhile.
  if (!program->is_of_outer_sizes(values_given, all)) return {schedule_, bind(all)};
  (void)program->sizes_of(kWho, given, all);
  if (outside_ == nullptr) {
    const bool is_whole = program->is_given(given);
    outside_ = is_whole ? program->plan(given, results, false, true) : schedule_;
  }
  return {outside_, nullptr};
}

Values Stretch::run(const Ready& ready, Args values_given) const {
  return program->run(*ready.schedule, values_given, ready.bound.get());
}

}  // namespace tensorlike
