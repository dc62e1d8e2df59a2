// By which choices an op may be taken for its body: they are tried on numbers.
#include <algorithm>
#include <cmath>
#include <functional>

#include "op/registry.h"
#include "program/samples.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

constexpr size_t kMostChoices = 729;
constexpr size_t kMostPoints = 6;
constexpr size_t kMostTerms = 200;  // nobody writes out more
constexpr double kEqual = 1e-9;
constexpr double kEqualSlopes = 1e-7;

using Samples = std::vector<Ref<RawTensor>>;

enum class Numbers : uint8_t { kUsual, kWide, kEdges };

// Numbers at which formulas have edges, those of the op's own body among them.
std::vector<double> edges_of(const Op& op) {
  std::vector<double> found{0, 0.5, -0.5};
  for (int whole = 1; whole <= 8; ++whole) {
    found.push_back(whole);
    found.push_back(-whole);
  }
  const Body& body = op.scalar != nullptr ? *op.scalar->spec.expansion : *op.cls.spec.define;
  for (const Literal& constant : body.constants) {
    if (const auto* whole = std::get_if<int64_t>(&constant)) {
      found.push_back(static_cast<double>(*whole));
    } else if (const auto* number = std::get_if<double>(&constant)) {
      found.push_back(*number);
    }
  }
  return found;
}

// Every third number is an edge, the others are usual ones; all pairs of two arguments' edges take
// turns.
void put_edges(RawTensor& x, size_t arg, const std::vector<double>& edges) {
  if (x.dtype != DType::kFloat64) return;
  for (int64_t i = 2; i < x.size(); i += 3) {
    const size_t turn = static_cast<size_t>(i) / 3;
    x.as<double>()[i] = edges[(turn + arg * (turn / edges.size())) % edges.size()];
  }
}

Samples arrays_of(const Sample& sample, Numbers numbers) {
  Samples found;
  for (size_t i = 0; i < sample.args.size(); ++i) {
    found.push_back(sample_array(sample.args[i], i, numbers == Numbers::kWide));
    if (numbers == Numbers::kEdges) put_edges(*found.back(), i, edges_of(*sample.op));
  }
  return found;
}

std::vector<Ref<Value>> as_values(const Samples& arrays) { return {arrays.begin(), arrays.end()}; }

using Way = std::function<Values(const std::vector<Ref<Value>>&)>;

Way op_of(const Sample& sample) {
  return [&sample](const std::vector<Ref<Value>>& args) {
    SmallVector<Value*, 4> given;
    for (const Ref<Value>& arg : args) given.push_back(arg.get());
    return tensorlike::apply(*sample.op, Args(given.data(), given.size()));
  };
}

Way terms_of(const Terms& terms, const std::vector<int>& made) {
  return [&terms, made](const std::vector<Ref<Value>>& args) {
    Evaluation evaluation(terms, args);
    Values out;
    for (int id : made) out.push_back(evaluation.value(id));
    return out;
  };
}

Ref<RawTensor> in_order(const Value& value) {
  return contiguous(*cast(static_cast<const RawTensor&>(value).ready("optimize"), DType::kFloat64));
}

// Whether `made` is what `wanted` is; where the numbers are wide, but for what is lost to them.
bool is_near(const Value& wanted, const Value& made, bool is_wide) {
  const auto& x = static_cast<const RawTensor&>(wanted);
  const auto& y = static_cast<const RawTensor&>(made);
  if (!(x.shape == y.shape) || x.dtype != y.dtype) return false;
  const Ref<RawTensor> p = in_order(x), q = in_order(y);
  int64_t finite = 0;
  for (int64_t i = 0; i < p->size(); ++i) {
    const double one = p->as<double>()[i], other = q->as<double>()[i];
    if (is_wide ? !std::isfinite(other) : std::isnan(one) && std::isnan(other)) continue;
    if (!(std::fabs(one - other) <= kEqual * (1 + std::fabs(one)))) return false;
    ++finite;
  }
  return is_wide || 4 * finite >= p->size();
}

// What an op gives for usual numbers, and for wide ones: that it is compared with.
struct SampleValues {
  explicit SampleValues(const Sample& sample) {
    for (Numbers numbers : {Numbers::kUsual, Numbers::kWide}) {
      args.push_back(as_values(arrays_of(sample, numbers)));
      results.push_back(op_of(sample)(args.back()));
    }
  }

  bool is_of(const Way& function) const {
    for (size_t k = 0; k < args.size(); ++k) {
      const Values made = function(args[k]);
      if (made.size() != results[k].size()) return false;
      for (size_t i = 0; i < made.size(); ++i) {
        if (!is_near(*results[k][i], *made[i], k == 1)) return false;
      }
    }
    return true;
  }

  std::vector<std::vector<Ref<Value>>> args;
  std::vector<Values> results;
};

// The gradients of a weighted sum of a function's results by its arguments; null: none.
std::vector<Ref<RawTensor>> gradient_of(const Way& function, const Samples& args) {
  struct Opened {
    Ref<Tape> tape = open_tape();
    ~Opened() { close_tape(*tape); }
  } opened;
  std::vector<Ref<Value>> leaves;
  std::vector<Edge> wanted, roots;
  for (const Ref<RawTensor>& arg : args) {
    leaves.push_back(arg);
    if (!is_differentiable(arg->dtype)) continue;
    const Ref<Tracer> leaf = make_leaf(arg, opened.tape);
    wanted.push_back(leaf->edge);
    leaves.back() = leaf;
  }
  Values cotangents;
  double weight = 0.75;
  for (const Ref<Value>& result : function(leaves)) {
    const Spec spec = spec_of("optimize", *result);
    const Ref<RawTensor> weights = RawTensor::empty(DType::kFloat64, spec.shape);
    for (int64_t i = 0; i < weights->size(); ++i) weights->as<double>()[i] = weight += 0.0625;
    if (result->tag != Value::kTracer) continue;
    roots.push_back(static_cast<const Tracer&>(*result).edge);
    cotangents.push_back(cast(*weights, spec.dtype));
  }
  std::vector<Ref<RawTensor>> found(args.size());
  if (roots.empty() || wanted.empty()) return found;
  const auto deliver = [&](const Edge& edge, const Ref<Value>& total) {
    for (size_t i = 0; i < leaves.size(); ++i) {
      const bool is_leaf = leaves[i]->tag == Value::kTracer &&
                           static_cast<const Tracer&>(*leaves[i]).edge.node == edge.node;
      if (is_leaf) found[i] = in_order(*total);
    }
  };
  backward(*opened.tape, roots, std::move(cotangents), {.wanted = wanted}, deliver);
  return found;
}

// Where the numbers are such that a scalar function's conditions hold; empty: everywhere.
std::vector<bool> where_allowed(const Sample& sample, const Samples& args) {
  std::vector<bool> found;
  if (sample.op->scalar == nullptr) return found;
  SmallVector<Value*, 4> given;
  for (const Ref<RawTensor>& arg : args) given.push_back(arg.get());
  for (const CompiledCondition& condition : sample.op->scalar->conditions) {
    const Values holds = run_body({*condition.body, *sample.op, Args(given.data(), given.size())});
    const Ref<RawTensor> each = in_order(*holds[0]);
    found.resize(static_cast<size_t>(each->size()), true);
    for (int64_t i = 0; i < each->size(); ++i) {
      if (each->as<double>()[i] == 0) found[static_cast<size_t>(i)] = false;
    }
  }
  return found;
}

// An op's gradients, also at the edges of formulas, where it may have chosen another slope than its
// body has. Where that has none (an infinite one times 0, say), the op's own is better.
struct Slopes {
  explicit Slopes(const Sample& sample)
      : args(arrays_of(sample, Numbers::kEdges)),
        own(gradient_of(op_of(sample), args)),
        is_allowed(where_allowed(sample, args)) {}

  bool are_of(const Way& function) const {
    const auto made = gradient_of(function, args);
    for (size_t i = 0; i < args.size(); ++i) {
      for (int64_t at = 0; (own[i] || made[i]) && at < args[i]->size(); ++at) {
        if (!is_allowed.empty() && !is_allowed[static_cast<size_t>(at)]) continue;
        const double x = own[i] ? own[i]->as<double>()[at] : 0;
        const double y = made[i] ? made[i]->as<double>()[at] : 0;
        if (std::isfinite(y) && !(std::fabs(x - y) <= kEqualSlopes * (1 + std::fabs(y)))) {
          return false;
        }
      }
    }
    return true;
  }

  const Samples args;
  const std::vector<Ref<RawTensor>> own;
  const std::vector<bool> is_allowed;
};

// Whether its gradients are declared, or code; those of the others are their bodies'. Those of
// scalar functions may be either.
bool has_own_gradient(const Op& op) {
  if (op.scalar != nullptr) return true;
  const OpSpec& spec = op.cls.spec;
  return op.grad_rule().run != nullptr || !spec.grads->empty() || !spec.differentiable;
}

size_t weight_of(const Terms& terms, const std::vector<int>& made) {
  size_t weight = 0;
  for (int id : made) weight += terms.weight(id, true);
  return weight;
}

class Choosing {
 public:
  explicit Choosing(const Op& op)
      : samples_(op.scalar != nullptr ? std::vector<Sample>{sample_of(*op.scalar)}
                                      : samples_of(op.cls)),
        has_own_gradient_(has_own_gradient(op)) {}

  BodyChoices run() {
    if (samples_.empty()) return {!has_own_gradient_, {}};
    for (const Sample& sample : samples_) {
      if (has_own_gradient_) slopes_.emplace_back(sample);
    }
    BodyChoices found{has_its_gradients({}), valid()};
    std::erase_if(found.others,
                  [&](const Choices& choices) { return !has_its_gradients(choices); });
    return found;
  }

 private:
  std::vector<int> through(Terms& terms, const Sample& sample, const Choices& choices,
                           size_t* points = nullptr) const {
    std::vector<int> leaves;
    for (size_t i = 0; i < sample.args.size(); ++i) {
      leaves.push_back(terms.leaf(static_cast<int>(i), sample.args[i]));
    }
    return terms.through_body(*sample.op, leaves, choices, false, points);
  }

  bool has_its_gradients(const Choices& choices) const {
    try {
      for (size_t i = 0; i < slopes_.size(); ++i) {
        Terms terms(false);
        const std::vector<int> made = through(terms, samples_[i], choices);
        if (!slopes_[i].are_of(terms_of(terms, made))) return false;
      }
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  // Those that make a difference and give the body's values, the plainest first.
  std::vector<Choices> valid() const {
    const Sample& sample = samples_[0];
    Terms terms(false);
    size_t points = 0;
    const std::vector<int> whole = through(terms, sample, {}, &points);
    if (points == 0 || points > kMostPoints || weight_of(terms, whole) > kMostTerms) return {};
    const SampleValues given(sample);
    std::vector<std::vector<int>> met{whole};
    std::vector<std::pair<size_t, Choices>> found;
    size_t count = 1;
    for (size_t i = 0; i < points; ++i) count *= 3;
    for (size_t number = 1; number < std::min(count, kMostChoices); ++number) {
      Choices choices;
      for (size_t i = 0, rest = number; i < points; ++i, rest /= 3) {
        choices.push_back(static_cast<Choice>(rest % 3));
      }
      try {
        const std::vector<int> made = through(terms, sample, choices);
        if (std::find(met.begin(), met.end(), made) != met.end()) continue;
        met.push_back(made);
        if (!given.is_of(terms_of(terms, made))) continue;
        found.emplace_back(weight_of(terms, made), std::move(choices));
      } catch (const Error&) {
        continue;
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Choices> out;
    for (auto& [weight, choices] : found) out.push_back(std::move(choices));
    return out;
  }

  const std::vector<Sample> samples_;
  const bool has_own_gradient_;
  std::vector<Slopes> slopes_;  // of each sample, where the op has gradients of its own
};

}  // namespace

const BodyChoices& body_choices(const Op& op) {
  static auto& known = *new std::unordered_map<const void*, BodyChoices>;
  const void* key = op.scalar != nullptr ? static_cast<const void*>(op.scalar) : &op.cls;
  if (const auto at = known.find(key); at != known.end()) return at->second;
  known[key];  // of an op that is in its own body there are none
  BodyChoices found;
  try {
    found = Choosing(op).run();
  } catch (const Error&) {
    found = {};
  }
  return known[key] = std::move(found);
}

}  // namespace tensorlike
