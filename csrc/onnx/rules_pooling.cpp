// Pooling: by our ops where their padding is that of ONNX, else over windows put side by side.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "onnx/windows.h"

namespace tensorlike::onnx {
namespace {

Tensor numbers(const RuleCall& call, const Sizes& values, const Dims& shape) {
  const Ref<RawTensor> made = RawTensor::empty(DType::kInt64, shape);
  std::copy(values.begin(), values.end(), made->as<int64_t>());
  return call.calls.known(made);
}

// All windows of an image side by side, (images, channels, *outputs, window).
class SideBySide {
 public:
  SideBySide(const RuleCall& call, const Windows& windows, const Item& x)
      : call_(call),
        shape_(x.tensor("x").spec.shape),
        places_(places_of(call, windows, std::span(shape_).subspan(2))),
        outs_(places_.outs.begin(), places_.outs.end()) {
    Dims wide = outs_;
    wide.push_back(places_.taps);
    const Tensor flat = numbers(call, places_.flat, wide);
    const Ref<RawTensor> mask = RawTensor::empty(DType::kBool, wide);
    std::copy(places_.inside.begin(), places_.inside.end(), mask->data);
    const int64_t places = element_count(std::span(shape_).subspan(2));
    const Item rows = call.reshaped(x.tensor("x"), Sizes{shape_[0], shape_[1], places});
    picked_ = Item(picked(call.calls, rows.tensor("x"), flat, 2));
    inside_ = Item(call.calls.known(mask));
    flat_ = Item(flat);
  }

  const Places& places() const { return places_; }
  // With a number in the place of what lies outside.
  Item with(const Item& number) const { return call_.one("where", {inside_, picked_, number}); }
  Item reduced(const char* function, const Item& values) const {
    return call_.one(function, {values}, {{"axis", Item(int64_t{-1})}});
  }
  // So many for each window.
  Item counted(const Sizes& counts, DType dtype) const {
    return call_.one("astype", {Item(numbers(call_, counts, outs_))}, {{"dtype", Item(dtype)}});
  }
  // Where the largest lies among the elements of all images.
  Item places_of_largest(const Item& values, bool is_column_first) const {
    const Item chosen =
        call_.one("argmax", {values}, {{"axis", Item(int64_t{-1})}, {"keepdims", Item(true)}});
    const Item table = call_.one("broadcast_to", {is_column_first ? turned() : flat_},
                                 {{"shape", list_of(values.tensor("windows").spec.shape)}});
    const Item own = call_.one("take_along_axis", {table, chosen}, {{"axis", Item(int64_t{-1})}});
    Dims whole{shape_[0], shape_[1]};
    for (int64_t out : outs_) whole.push_back(out);
    Sizes planes;
    int64_t size = 1;
    for (size_t i = 2; i < shape_.size(); ++i) size *= shape_[i];
    for (int64_t i = 0; i < shape_[0] * shape_[1]; ++i) planes.push_back(i * size);
    Dims beside(whole.size(), 1);
    beside[0] = shape_[0];
    beside[1] = shape_[1];
    return call_.one(
        "add", {call_.reshaped(own.tensor("places"), whole), Item(numbers(call_, planes, beside))});
  }

 private:
  // Places counted down the columns.
  Item turned() const {
    Sizes found;
    for (int64_t flat : places_.flat) {
      int64_t place = 0, rest = flat, whole = 1;
      for (size_t i = 2; i < shape_.size(); ++i) whole *= shape_[i];
      int64_t factor = whole;
      for (size_t i = shape_.size(); i-- > 2;) {
        factor /= shape_[i];
        place += rest % shape_[i] * factor;
        rest /= shape_[i];
      }
      found.push_back(place);
    }
    return Item(numbers(call_, found, flat_.tensor("places").spec.shape));
  }

  const RuleCall& call_;
  const Dims shape_;
  const Places places_;
  const Dims outs_;
  Item picked_, inside_, flat_;
};

Items max_pool(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const Windows windows(call, x, call.item("kernel_shape"));
  const bool pads_here = windows.is_narrow(), rounds_up = call.integer("ceil_mode") != 0;
  const bool is_padded = kind_of(x.spec.dtype) == Kind::kFloating && !rounds_up;
  if (call.outputs == 1 && (pads_here || is_padded)) {
    const Item input = pads_here ? Item(x) : windows.padded(call, x, -INFINITY);
    return {call.one("max_pool", {input},
                     {{"kernel_size", windows.kernel},
                      {"stride", windows.strides},
                      {"padding", pads_here ? windows.before : zeros(windows.count)},
                      {"dilation", windows.dilations},
                      {"ceil_mode", Item(rounds_up)}})};
  }
  const SideBySide all(call, windows, Item(x));
  const Item values =
      all.with(calculate("limit", {Item(x.spec.dtype), Item(std::string("lowest"))}));
  const Item largest =
      call.one("astype", {all.reduced("max", values)}, {{"dtype", Item(x.spec.dtype)}});
  if (call.outputs == 1) return {largest};
  return {largest, all.places_of_largest(values, call.integer("storage_order") != 0)};
}

bool is_dense(const Windows& windows) {
  const Sizes dilations = windows.dilations.integers("dilations");
  return std::all_of(dilations.begin(), dilations.end(), [](int64_t each) { return each == 1; });
}

// The mean of each window of elements that have their margins already.
Item mean_of(const RuleCall& call, const Windows& windows, const Item& x) {
  return call.one("avg_pool", {x},
                  {{"kernel_size", windows.kernel},
                   {"stride", windows.strides},
                   {"padding", zeros(windows.count)},
                   {"ceil_mode", Item(false)},
                   {"count_include_pad", Item(true)}});
}

Items average_pool(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const Windows windows(call, x, call.item("kernel_shape"));
  const bool counts_all = call.integer("count_include_pad") != 0;
  const bool rounds_up = call.integer("ceil_mode") != 0;
  if (windows.is_narrow() && is_dense(windows)) {
    return {call.one("avg_pool", {Item(x)},
                     {{"kernel_size", windows.kernel},
                      {"stride", windows.strides},
                      {"padding", windows.before},
                      {"ceil_mode", Item(rounds_up)},
                      {"count_include_pad", Item(counts_all)}})};
  }
  if (is_dense(windows) && counts_all && !rounds_up) {
    return {mean_of(call, windows, windows.padded(call, x, 0.0))};
  }
  const SideBySide all(call, windows, Item(x));
  const Item counts =
      all.counted(counts_all ? all.places().padded : all.places().elements, x.spec.dtype);
  return {call.one("divide", {all.reduced("sum", all.with(Item(0.0))), counts})};
}

// The p-norm of each window.
Items lp_pool(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const Windows windows(call, x, call.item("kernel_shape"));
  const auto p = static_cast<double>(call.integer("p"));
  const Item powers = call.one("pow", {call.one("abs", {Item(x)}), Item(p)});
  Item sums;
  if (is_dense(windows) && call.integer("ceil_mode") == 0) {
    double size = 1;
    for (int64_t each : windows.kernel.integers("kernel_shape")) size *= static_cast<double>(each);
    const Item means = mean_of(call, windows, windows.padded(call, powers.tensor("x"), 0.0));
    sums = call.one("multiply", {means, Item(size)});
  } else {
    const SideBySide all(call, windows, powers);
    sums = all.reduced("sum", all.with(Item(0.0)));
  }
  return {call.one("pow", {sums, Item(1 / p)})};
}

// What max_pool gave, at the places where it was, and zeros.
Items max_unpool(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const Dims& shape = x.spec.shape;
  const Sizes kernel = call.integers("kernel_shape");
  if (shape.size() < 3 || kernel.size() != shape.size() - 2) {
    call.refuse("kernel_shape", "must have a size for each spatial axis", text(kernel.size()));
  }
  const Item count(static_cast<int64_t>(kernel.size()));
  const Sizes strides = calculate("ones_like", {call.item("strides"), count}).integers("strides");
  Sizes pads(2 * kernel.size(), 0), sizes{shape[0], shape[1]}, widths(2 * shape.size(), 0);
  if (call.is_given("pads")) pads = call.integers("pads");
  if (pads.size() != 2 * kernel.size()) call.refuse("pads", "must be two for each axis", "others");
  constexpr int64_t kMost = 1 << 24;  // of a number beside which sums are far from overflowing
  for (const Sizes& numbers : {kernel, strides, pads}) {
    for (int64_t each : numbers) {
      if (each < -kMost || each > kMost) call.refuse("kernel_shape", "must be smaller", text(each));
    }
  }
  for (size_t i = 0; i < kernel.size(); ++i) {
    sizes.push_back((shape[i + 2] - 1) * strides[i] - pads[i] - pads[i + kernel.size()] +
                    kernel[i]);
    if (sizes.back() < 0) call.refuse("pads", "must leave something", text(sizes.back()));
  }
  const Item zero(call.calls.known(cast(*RawTensor::scalar(DType::kBool, false), x.spec.dtype)));
  const Item empty =
      call.one("broadcast_to", {zero},
               {{"shape", list_of(Sizes{element_count(Dims(sizes.begin(), sizes.end()))})}});
  const Item found = call.one(
      "scatter_set",
      {empty, call.reshaped(x, Sizes{-1}), call.reshaped(call.tensor("indices"), Sizes{-1})},
      {{"axes", list_of(Sizes{0})}});
  const Item image = call.reshaped(found.tensor("image"), sizes);
  if (!call.is_given("wanted")) return {image};
  // The places are those of the smaller image, which lies at the beginning of the larger one.
  const Sizes wanted = call.integers("wanted");
  if (wanted.size() != sizes.size()) call.refuse("wanted", "must be a shape", text(wanted.size()));
  for (size_t i = 0; i < sizes.size(); ++i) widths[2 * i + 1] = wanted[i] - sizes[i];
  return {call.one("pad", {image}, {{"widths", list_of(widths)}})};
}

constexpr NamedRule kPoolingRules[] = {{"max_pool", max_pool},
                                       {"average_pool", average_pool},
                                       {"lp_pool", lp_pool},
                                       {"max_unpool", max_unpool}};

}  // namespace

std::span<const NamedRule> pooling_rules() { return kPoolingRules; }

}  // namespace tensorlike::onnx
