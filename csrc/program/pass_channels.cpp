// What scales and shifts the channels of a product by captured numbers becomes part of its captured
// weights, as the batch norm after a convolution that only infers. Declarations say what channels
// are (`channels`).
#include <optional>

#include "op/registry.h"
#include "program/passes.h"
#include "tensor/body.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

// More stay as they are, and their scale runs with the elementwise steps after the product: scaled
// weights would stand in memory beside those of who recorded the program.
constexpr int64_t kMostScaled = 1 << 18;

// y -> y * scale + shift, of captured numbers; -1: there is none.
struct Affine {
  int y = -1, scale = -1, shift = -1;
  bool divides = false, subtracts = false;
};

Ref<Value> call(const char* mode, Value* a, Value* b) {
  Value* args[] = {a, b};
  return std::move(apply(registry().scalar_op(mode), args)[0]);
}

class Channels {
 public:
  explicit Channels(Graph& graph) : graph_(graph) {}

  int run() {
    int changes = 0;
    for (size_t i = 0; i < graph_.steps().size(); ++i) {
      const std::optional<Affine> found = affine(graph_.steps()[i]);
      if (!found || !put(i, *found)) continue;
      ++changes;
      ++i;  // the new product stands before it
    }
    return changes;
  }

 private:
  const RawTensor* array(int number) const {
    const Program::Variable& variable = graph_.variable(number);
    const bool is_array = variable.role == Program::Role::kCaptured && variable.value &&
                          variable.value->tag == Value::kRaw;
    if (!is_array) return nullptr;
    const auto& found = static_cast<const RawTensor&>(*variable.value);
    return found.device == Device() ? &found.ready("optimize") : nullptr;
  }

  std::optional<Affine> affine(const Program::Step& step) const {
    if (step.op->scalar == nullptr || step.inputs.size() < 2) return std::nullopt;
    const std::string& mode = step.op->scalar->spec.name;
    const int a = step.inputs[0], b = step.inputs[1];
    if (mode == "multiply_add") {
      const bool is_first = array(b) != nullptr;
      return Affine{is_first ? a : b, is_first ? b : a, step.inputs[2]};
    }
    if (mode == "multiply" || mode == "add") {
      const bool is_first = array(b) != nullptr;
      const int y = is_first ? a : b, number = is_first ? b : a;
      return mode == "add" ? Affine{y, -1, number} : Affine{y, number, -1};
    }
    if (mode == "divide") return Affine{a, b, -1, true, false};
    if (mode == "subtract") return Affine{a, -1, b, false, true};
    return std::nullopt;
  }

  // The step that makes a variable which nobody else reads; null: there is none.
  const Program::Step* only_maker(int variable, size_t before) const {
    if (graph_.readers()[at(variable)] != 1) return nullptr;
    for (size_t i = before; i-- > 0;) {
      const Program::Step& step = graph_.steps()[i];
      if (step.outputs.size() == 1 && step.outputs[0] == variable) return &step;
    }
    return nullptr;
  }

  // Numbers as they stand along one axis of an array, or one for all: seen with as many dimensions
  // as another array, along an axis of it. Null: they differ along another axis.
  static Ref<RawTensor> along(const RawTensor& numbers, size_t ndim, size_t axis, size_t of_ndim,
                              size_t of_axis) {
    const size_t lead = ndim - numbers.shape.size();
    Dims shape(of_ndim, 1), strides(of_ndim, 0);
    for (size_t i = 0; i < numbers.shape.size(); ++i) {
      if (numbers.shape[i] == 1) continue;
      if (i + lead != axis) return {};
      shape[of_axis] = numbers.shape[i];
      strides[of_axis] = numbers.strides[i];
    }
    return numbers.view(std::move(shape), std::move(strides));
  }

  static size_t axis_of(int axis, size_t ndim) {
    return axis < 0 ? ndim - static_cast<size_t>(-axis) : static_cast<size_t>(axis);
  }

  bool put(size_t place, const Affine& affine) {
    const Program::Step* product = only_maker(affine.y, place);
    if (product == nullptr || !product->exprs.empty() || !is_pure(*product->op)) return false;
    const std::vector<std::vector<int>>& channels = product->op->cls.spec.channels;
    const Spec y = graph_.variable(affine.y).spec;  // capturing moves variables
    const Spec result = graph_.variable(graph_.steps()[place].outputs[0]).spec;
    if (channels.empty() || kind_of(y.dtype) != Kind::kFloating || !(result.shape == y.shape)) {
      return false;
    }
    size_t axis = y.shape.size();
    for (const std::vector<int>& channel : channels) {
      if (channel[0] < 0) axis = axis_of(channel[1], y.shape.size());
    }
    if (axis >= y.shape.size()) return false;
    std::vector<int> inputs = product->inputs;
    bool has_shift = affine.shift < 0;
    for (const std::vector<int>& channel : channels) {
      if (channel[0] < 0) continue;
      const size_t arg = static_cast<size_t>(channel[0]);
      const bool is_addend = product->op->cls.spec.args[arg].optional;
      if (arg > inputs.size() || (arg == inputs.size() && !is_addend)) return false;
      Ref<Value> made;
      if (arg < inputs.size()) {
        made = scaled(inputs[arg], channel[1], affine, y, axis);
        if (!made) return false;
      }
      if (is_addend && affine.shift >= 0) {
        made = shifted(made, affine, y, axis);
        if (!made) return false;
        has_shift = true;
      }
      if (!made) continue;
      if (arg == inputs.size()) inputs.push_back(-1);
      inputs[arg] = graph_.capture(made, "folded");
    }
    if (!has_shift) return false;
    const Ref<const Op> op = product->op;
    const std::string line = product->place;
    const std::vector<int> found = graph_.insert(place, *op, inputs, line);
    const int old = graph_.steps()[place + 1].outputs[0];
    if (!graph_.is_same_kind(found[0], old)) {
      graph_.remove(place, 1);
      return false;
    }
    graph_.replace(old, found[0]);
    return true;
  }

  // The argument times the scale, along its axis; null: it is no array, or of another dtype.
  Ref<Value> scaled(int argument, int its_axis, const Affine& affine, const Spec& y,
                    size_t axis) const {
    const RawTensor* x = array(argument);
    if (x == nullptr || x->dtype != y.dtype) return {};
    const size_t ndim = x->shape.size();
    if (static_cast<size_t>(its_axis < 0 ? -its_axis : its_axis + 1) > ndim) return {};
    const size_t own = axis_of(its_axis, ndim);
    if (x->shape[own] != y.shape[axis]) return {};
    if (affine.scale >= 0 && x->count > kMostScaled) return {};
    if (affine.scale < 0) return Ref<Value>(const_cast<RawTensor*>(x));
    const RawTensor* numbers = array(affine.scale);
    if (numbers == nullptr || numbers->dtype != y.dtype || numbers->shape.size() > y.shape.size()) {
      return {};
    }
    const Ref<RawTensor> seen = along(*numbers, y.shape.size(), axis, ndim, own);
    if (!seen) return {};
    return call(affine.divides ? "divide" : "multiply", const_cast<RawTensor*>(x), seen.get());
  }

  // The shift, beside an addend or alone, as long as there are channels.
  Ref<Value> shifted(const Ref<Value>& addend, const Affine& affine, const Spec& y,
                     size_t axis) const {
    const RawTensor* numbers = array(affine.shift);
    if (numbers == nullptr || numbers->dtype != y.dtype || numbers->shape.size() > y.shape.size()) {
      return {};
    }
    Ref<RawTensor> seen = along(*numbers, y.shape.size(), axis, 1, 0);
    if (!seen) return {};
    const int64_t count = y.shape[axis];
    seen = contiguous(*broadcast_to(*seen, Dims{count}));
    Ref<Value> from = addend;
    if (!from) {
      if (!affine.subtracts) return seen;
      from = RawTensor::scalar(y.dtype, Literal(0.0));
    }
    return call(affine.subtracts ? "subtract" : "add", from.get(), seen.get());
  }

  Graph& graph_;
};

}  // namespace

int scale_channels(Graph& graph, OptLevel) { return Channels(graph).run(); }

}  // namespace tensorlike
