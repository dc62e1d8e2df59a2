#include "onnx/recurrent_cells.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "onnx/subgraph.h"
#include "program/holder.h"

namespace tensorlike::onnx {
namespace {

constexpr int64_t kOpset =
    22;  // in which the functions are looked up: no other means them otherwise

struct Known {
  std::string_view name;
  double alpha, beta;  // 0: it has none
};
constexpr Known kKnown[] = {
    {"Affine", 1.0, 0.0},
    {"Elu", 1.0, 0.0},
    {"HardSigmoid", 0.2, 0.5},
    {"LeakyRelu", 0.01, 0.0},
    {"Relu", 0.0, 0.0},
    {"ScaledTanh", 1.0, 1.0},
    {"Sigmoid", 0.0, 0.0},
    {"Softplus", 0.0, 0.0},
    {"Softsign", 0.0, 0.0},
    {"Tanh", 0.0, 0.0},
    {"ThresholdedRelu", 1.0, 0.0},
};

bool is_same_word(std::string_view x, std::string_view y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  });
}

// The next of the numbers that a node has for those functions that take one.
double next(const Items* numbers, size_t& at, double usual) {
  if (usual == 0 || numbers == nullptr || at >= numbers->size()) return usual;
  return (*numbers)[at++].number("activations");
}

// One step of a cell, as calls of the scan's body.
class Step {
 public:
  Step(Calls& calls, const Cell& cell, const Steps& given)
      : calls_(calls), cell_(cell), given_(given), size_(given.h.spec.shape.back()) {}

  // The states after it: the hidden one, and the cell.
  Items run(const Item& own, const Item& h, const Item& c) const {
    if (cell_.kind == "lstm") return lstm(own, h, c);
    return {cell_.kind == "gru" ? gru(own, h) : function(0, sum(own, inner(h, 0, 1)))};
  }

 private:
  Item one(const char* function, const Items& args) const {
    return Item(calls_.one(function, args));
  }
  Item sum(const Item& x, const Item& y) const { return one("add", {x, y}); }
  Item product(const Item& x, const Item& y) const { return one("multiply", {x, y}); }

  // Some of the gates, along the last axis.
  Item gates(const Tensor& x, int64_t first, int64_t count) const {
    std::vector<Slice> slices(x.spec.shape.size());
    slices.back() = {first * size_, (first + count) * size_, 1};
    return Item(part_of(calls_, x, slices));
  }
  Item gate(const Item& x, int64_t which) const { return gates(x.tensor("gates"), which, 1); }

  // What a hidden state adds to some of the gates.
  Item inner(const Item& h, int64_t first, int64_t count) const {
    const Item made = given_.product(calls_, h, first * size_, count * size_);
    return sum(made, gates(given_.bias, first, count));
  }

  Item function(size_t which, const Item& x) const {
    const Activation& f = cell_.functions[which];
    Item own = x;
    if (cell_.clip) {
      own = one("minimum", {one("maximum", {own, Item(-*cell_.clip)}), Item(*cell_.clip)});
    }
    return applied(f, own);
  }
  Item applied(const Activation& f, const Item& x) const {
    if (f.name == "Affine") return sum(product(x, Item(f.alpha)), Item(f.beta));
    if (f.name == "ScaledTanh") {
      return product(one("tanh", {product(x, Item(f.beta))}), Item(f.alpha));
    }
    const Entry& entry = *find_entry("", f.name, kOpset);
    Named values{{entry.inputs[0].name, x}};
    for (const auto& [name, usual] : entry.attrs) {
      values[name] = Item(name == "alpha" ? f.alpha : f.beta);
    }
    return run_body(entry, values, calls_, 1)[0];
  }

  Item gru(const Item& own, const Item& h) const {
    const Item sums = sum(gates(own.tensor("sums"), 0, 2), inner(h, 0, 2));
    const Item both = function(0, sums);
    const Item update = gate(both, 0), reset = gate(both, 1);
    const Item added =
        cell_.resets_after ? product(reset, inner(h, 2, 1)) : inner(product(reset, h), 2, 1);
    const Item candidate = function(1, sum(gate(own, 2), added));
    const Item rest = one("subtract", {Item(1.0), update});
    return sum(product(rest, candidate), product(update, h));
  }

  Item peeped(const Item& x, int64_t which, const Item& c) const {
    if (!given_.peepholes) return x;
    return sum(x, product(gates(*given_.peepholes, which, 1), c));
  }
  // Input, output, forget, candidate; of the peepholes input, output, forget.
  Items lstm(const Item& own, const Item& h, const Item& c) const {
    const Item sums = sum(own, inner(h, 0, 4));
    const Item in = function(0, peeped(gate(sums, 0), 0, c));
    const Item kept = cell_.joins_forget ? one("subtract", {Item(1.0), in})
                                         : function(0, peeped(gate(sums, 2), 2, c));
    const Item now = sum(product(kept, c), product(in, function(1, gate(sums, 3))));
    const Item out = function(0, peeped(gate(sums, 1), 1, now));
    return {product(out, applied(cell_.functions[2], now)), now};
  }

  Calls& calls_;
  const Cell& cell_;
  const Steps& given_;
  const int64_t size_;
};

}  // namespace

std::vector<std::vector<Activation>> activations_of(const RuleCall& call,
                                                    std::span<const std::string_view> usual,
                                                    size_t directions) {
  const auto listed = [&](const char* name) {
    return call.is_given(name) ? &call.item(name).list(name) : nullptr;
  };
  const Items *names = listed("activations"), *alphas = listed("activation_alpha"),
              *betas = listed("activation_beta");
  if (names != nullptr && names->size() != usual.size() * directions) {
    call.refuse("activations", text("must be ", usual.size() * directions, " names"),
                text(names->size()));
  }
  std::vector<std::vector<Activation>> found(directions);
  size_t alpha = 0, beta = 0;
  for (size_t i = 0; i < usual.size() * directions; ++i) {
    const std::string name(names == nullptr ? usual[i % usual.size()]
                                            : (*names)[i].text("activations"));
    const auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                    [&](const Known& one) { return is_same_word(one.name, name); });
    if (known == std::end(kKnown)) {
      call.refuse("activations", "must be functions that the standard names", name);
    }
    found[i / usual.size()].push_back({std::string(known->name), next(alphas, alpha, known->alpha),
                                       next(betas, beta, known->beta)});
  }
  return found;
}

std::vector<Tensor> scanned(Calls& calls, const Cell& cell, const Steps& given, const Tensor& sums,
                            bool is_back) {
  const Dims& shape = sums.spec.shape;
  const Item steps(
      calls.one("arange", {}, {{"start", Item(int64_t{0})}, {"stop", Item(int64_t{shape[0]})}}));
  std::vector<Tensor> carried{given.h};
  if (given.c) carried.push_back(*given.c);
  const size_t count = carried.size();

  Recording body;
  body.calls().place = calls.place;
  Items before;
  for (const Tensor& x : carried) before.push_back(body.parameter(x.spec));
  const Item at = body.parameter({DType::kInt64, {}});
  const Item own = body.parameter({sums.spec.dtype, Dims(shape.begin() + 1, shape.end())});
  const Step step(body.calls(), cell, given);
  Items after = step.run(own, before[0], before.back());
  if (given.lengths) {
    const Item is_before(body.calls().one("less", {at, Item(*given.lengths)}));
    const Item sizes = list_of(std::vector<int64_t>{-1, 1});
    const Item is_on(body.calls().one("reshape", {is_before}, {{"shape", sizes}}));
    after[0] = Item(body.calls().one("where", {is_on, after[0], Item(0.0)}));
  }
  for (size_t i = 0; i < count; ++i) after.push_back(Item(after[i]));
  body.give(after);

  const std::vector<Attr> params{static_cast<int64_t>(count), int64_t{2}, is_back};
  carried.push_back(steps.tensor("steps"));
  carried.push_back(sums);
  const std::vector<Tensor> outside = body.outside();
  const std::vector<Tensor> made =
      add_holder(calls, Holder::Kind::kScanLoop, {body.finish()}, params, carried, outside);
  return {made.begin() + static_cast<std::ptrdiff_t>(count), made.end()};
}

}  // namespace tensorlike::onnx
