#include "program/patterns.h"

#include "program/samples.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

constexpr size_t kMostVariants = 8;  // of one body

}  // namespace

const void* meaning_of(const Op& op) {
  if (op.scalar != nullptr) return op.scalar;
  if (op.reduction != nullptr) return op.reduction;
  return &op.cls;
}

const void* root_of(const Term& term) {
  static const char kSum = 0, kProduct = 0;
  if (term.kind == Term::Kind::kSum) return &kSum;
  if (term.kind == Term::Kind::kProduct) return &kProduct;
  return term.kind == Term::Kind::kCall ? meaning_of(*term.op) : nullptr;
}

std::span<const ArgSpec> Pattern::args() const {
  if (identity != nullptr) return identity->spec.from.args;
  return op->scalar != nullptr ? op->scalar->spec.args : op->cls.spec.args;
}

void Patterns::add(Pattern pattern, const Specs& args, const void* other_than) {
  std::vector<int> leaves;
  for (size_t i = 0; i < args.size(); ++i) {
    leaves.push_back(pattern.fixed[i] ? terms_.number(*pattern.fixed[i], {args[i].dtype, {}, {}})
                                      : terms_.leaf(static_cast<int>(i), args[i]));
  }
  try {
    pattern.results =
        terms_.through_body(*pattern.op, leaves, pattern.choices, pattern.keeps_inner);
  } catch (const Error&) {
    return;
  }
  const void* root = root_of(terms_[pattern.results[0]]);
  if (root == nullptr || root == other_than) return;
  std::vector<size_t>& others = by_root_[root];
  for (size_t other : others) {
    const Pattern& known = patterns_[other];
    const bool is_same_op = pattern.neutral < 0 ? known.op.get() == pattern.op.get()
                                                : &known.op->cls == &pattern.op->cls;
    if (is_same_op && known.results == pattern.results) return;
  }
  others.push_back(patterns_.size());
  patterns_.push_back(std::move(pattern));
}

// An argument that is 0, or 1, leaves out a step of the body: where that is the last one, the rest
// looks like something else.
void Patterns::add_without(const Pattern& pattern, const Specs& args) {
  if (pattern.op->scalar != nullptr || pattern.results.empty()) return;
  const void* root = root_of(terms_[pattern.results[0]]);
  for (size_t i = 0; i < args.size(); ++i) {
    if (pattern.fixed[i] || !is_floating(args[i])) continue;
    for (double neutral : {0.0, 1.0}) {
      Pattern made = pattern;
      made.fixed[i] = neutral;
      add(std::move(made), args, root);
    }
  }
}

// A number among the attributes that is 0, or 1, leaves out a step, too, anywhere.
void Patterns::add_neutral(const Sample& sample, std::span<const ArgSpec> arg_specs,
                           const Identity* identity) {
  for (size_t i = 0; i < sample.op->attrs.size(); ++i) {
    if (!std::holds_alternative<double>(sample.op->attrs[i])) continue;
    for (double neutral : {0.0, 1.0}) {
      const Ref<Op> op = make_ref<Op>(sample.op->cls);
      op->attrs = sample.op->attrs;
      op->attrs[i] = neutral;
      add_op(op, sample.args, arg_specs, identity, static_cast<int>(i));
    }
  }
}

void Patterns::add_op(const Ref<Op>& op, const Specs& args, std::span<const ArgSpec> arg_specs,
                      const Identity* identity, int neutral) {
  std::vector<std::optional<double>> free(args.size()), fixed(args.size());
  bool is_any = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const Attr& fallback = arg_specs[i].fallback;
    if (const auto* whole = std::get_if<int64_t>(&fallback)) {
      fixed[i] = static_cast<double>(*whole);
    } else if (const auto* number = std::get_if<double>(&fallback)) {
      fixed[i] = *number;
    }
    is_any = is_any || fixed[i];
  }
  std::vector<Choices> variants{{}};
  if (identity == nullptr) {
    const BodyChoices& all = body_choices(*op);
    if (!all.as_written) variants.clear();
    for (const Choices& choices : all.others) {
      if (variants.size() < kMostVariants) variants.push_back(choices);
    }
  }
  for (size_t i = variants.size(); identity == nullptr && op->scalar == nullptr && i-- > 0;) {
    variants.push_back(variants[i]);
    variants.back().push_back(Choice::kMask);
  }
  for (const Choices& choices : variants) {
    for (bool keeps_inner : {false, true}) {
      const size_t before = patterns_.size();
      add({op, identity, choices, keeps_inner, neutral, free, {}}, args);
      if (patterns_.size() > before) add_without(Pattern(patterns_.back()), args);
      if (is_any) add({op, identity, choices, keeps_inner, neutral, fixed, {}}, args);
    }
  }
}

void Patterns::add_bodies(const Registry& registry) {
  for (const Function* function : registry.functions()) {
    const Op* shared = function->shared_op.get();
    if (shared != nullptr && shared->scalar != nullptr) {
      const Scalar& scalar = *shared->scalar;
      if (!scalar.expansion || scalar.spec.derived || added_[&scalar]) continue;
      added_[&scalar] = true;
      add_op(scalar.op, sample_of(scalar).args, scalar.spec.args, nullptr);
      continue;
    }
    const OpClass& cls = *function->op_class;
    if (!cls.define || added_[&cls]) continue;
    added_[&cls] = true;
    for (const Sample& sample : samples_of(cls)) {
      add_op(sample.op, sample.args, cls.spec.args, nullptr);
      add_neutral(sample, cls.spec.args, nullptr);
    }
  }
}

void Patterns::add(const Identity& identity) {
  for (const Sample& sample : samples_of(identity.from)) {
    add_op(sample.op, sample.args, identity.spec.from.args, &identity);
    if (identity.spec.holds == IdentitySpec::Holds::kAsBody) {
      add_neutral(sample, identity.spec.from.args, &identity);
    }
  }
}

const std::vector<size_t>& Patterns::candidates(const Term& term) const {
  static const std::vector<size_t> none;
  const auto found = by_root_.find(root_of(term));
  return found == by_root_.end() ? none : found->second;
}

}  // namespace tensorlike
