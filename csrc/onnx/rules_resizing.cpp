// Resize: where each element of the result lies in the input, and how its neighbours weigh. Places
// and weights are worked out here, for each axis by itself; the program gathers and multiplies.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "onnx/rules.h"

namespace tensorlike::onnx {
namespace {

constexpr int64_t kMostPlaces = 1 << 24;

struct How {
  std::string mode, coordinates, nearest;
};

double coordinate(const RuleCall& call, const How& how, int64_t at, int64_t size, double scale) {
  const auto place = static_cast<double>(at), length = static_cast<double>(size) * scale;
  if (how.coordinates == "half_pixel") return (place + 0.5) / scale - 0.5;
  if (how.coordinates == "pytorch_half_pixel") return length > 1 ? (place + 0.5) / scale - 0.5 : 0;
  if (how.coordinates == "asymmetric") return place / scale;
  if (how.coordinates == "align_corners") {
    return length == 1 ? 0 : place * static_cast<double>(size - 1) / (length - 1);
  }
  call.refuse("coordinate_transformation_mode", "must be a mode that the core has",
              how.coordinates);
}

double nearest(const RuleCall& call, const How& how, double place) {
  const double near = std::nearbyint(place * 1e9) / 1e9;  // what is whole but for the last bit
  if (how.nearest == "round_prefer_floor") return std::ceil(near - 0.5);
  if (how.nearest == "round_prefer_ceil") return std::floor(near + 0.5);
  if (how.nearest == "floor") return std::floor(near);
  if (how.nearest == "ceil") return std::ceil(near);
  call.refuse("nearest_mode", "must be a mode of the standard", how.nearest);
}

Tensor along(const RuleCall& call, const Tensor& x, size_t axis, int64_t out, double scale,
             const How& how) {
  const int64_t size = x.spec.shape[axis];
  if (out < 0 || out > kMostPlaces || (size == 0 && out > 0)) {
    call.refuse("sizes", "must be sizes that an image has", text(out));
  }
  const auto last = static_cast<double>(size - 1);
  const Ref<RawTensor> first = RawTensor::empty(DType::kInt64, {out});
  const Ref<RawTensor> second = RawTensor::empty(DType::kInt64, {out});
  Dims shape(x.spec.shape.size(), 1);
  shape[axis] = out;
  const Ref<RawTensor> share = RawTensor::empty(DType::kFloat32, shape);
  bool is_whole = true;  // no place lies between two elements
  for (int64_t i = 0; i < out; ++i) {
    const double place = coordinate(call, how, i, size, scale);
    const double low = how.mode == "nearest" ? nearest(call, how, place) : std::floor(place);
    const double part = how.mode == "nearest" ? 0 : place - low;
    const auto clipped = [&](double at) { return static_cast<int64_t>(std::clamp(at, 0.0, last)); };
    reinterpret_cast<int64_t*>(first->data)[i] = clipped(low);
    reinterpret_cast<int64_t*>(second->data)[i] = clipped(low + 1);
    reinterpret_cast<float*>(share->data)[i] = static_cast<float>(part);
    is_whole = is_whole && part == 0;
  }
  Calls& calls = call.calls;
  const Tensor below = picked(calls, x, calls.known(first), axis);
  if (is_whole) return below;
  const Item weight(calls.known(cast(*share, x.spec.dtype)));
  const Item above(picked(calls, x, calls.known(second), axis));
  const Item step(calls.one("subtract", {above, Item(below)}));
  return calls.one("multiply_add", {step, weight, Item(below)});
}

Items resized(const RuleCall& call, const Item& scales, const Item& sizes, const How& how) {
  Tensor x = call.tensor("x");
  const size_t rank = x.spec.shape.size();
  if (how.mode != "nearest" && how.mode != "linear") {
    call.refuse("mode", "must be nearest or linear here", how.mode);
  }
  const bool by_scales = scales.is_given() && !scales.list("scales").empty();
  const Items& given = by_scales ? scales.list("scales") : sizes.list("sizes");
  if (given.size() != rank)
    call.refuse("scales", "must be one for each axis here", text(given.size()));
  if (how.mode == "linear" && kind_of(x.spec.dtype) != Kind::kFloating) {
    call.refuse("x", "must be floating-point here", to_string(x.spec));
  }
  for (size_t axis = 0; axis < rank; ++axis) {
    const auto size = static_cast<double>(x.spec.shape[axis]);
    const double scale = by_scales ? given[axis].number("scales")
                                   : given[axis].number("sizes") / std::max(size, 1.0);
    if (!(scale > 0 && scale < 1e9)) call.refuse("scales", "must be positive", text(scale));
    const int64_t out =
        by_scales ? static_cast<int64_t>(std::floor(size * scale)) : given[axis].integer("sizes");
    if (scale != 1) x = along(call, x, axis, out, scale, how);
  }
  return {Item(std::move(x))};
}

// Scales or sizes of the axes that are named, with those of others, which stay as they are.
Item of_all_axes(const RuleCall& call, const char* name) {
  if (!call.is_given("axes")) return call.item(name);
  const Dims& shape = call.tensor("x").spec.shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const bool by_scales = std::string_view(name) == "scales";
  Items all;
  for (int64_t size : shape) all.push_back(by_scales ? Item(1.0) : Item(size));
  const Items &axes = call.item("axes").list("axes"), &given = call.item(name).list(name);
  if (axes.size() != given.size())
    call.refuse(name, "must be one for each axis", text(given.size()));
  for (size_t i = 0; i < axes.size(); ++i) {
    const Item axis = calculate("normal_axis", {axes[i], Item(rank)});
    all[static_cast<size_t>(axis.integer("axis"))] = given[i];
  }
  return list_of(std::move(all));
}

Items resize(const RuleCall& call) {
  for (const char* name : {"antialias", "exclude_outside"}) {
    if (call.integer(name) != 0) call.refuse(name, "must be 0 here", "1");
  }
  const std::string& policy = call.item("keep_aspect_ratio_policy").text("policy");
  if (policy != "stretch") call.refuse("keep_aspect_ratio_policy", "must be stretch here", policy);
  const bool by_scales = call.is_given("scales") && !call.item("scales").list("scales").empty();
  return resized(
      call, by_scales ? of_all_axes(call, "scales") : Item(),
      by_scales || !call.is_given("sizes") ? list_of(Items()) : of_all_axes(call, "sizes"),
      {call.item("mode").text("mode"), call.item("coordinate_transformation_mode").text("mode"),
       call.item("nearest_mode").text("mode")});
}

// The older form.
Items upsample(const RuleCall& call) {
  return resized(call, call.item("scales"), list_of(Items()),
                 {call.item("mode").text("mode"), "asymmetric", "floor"});
}

constexpr NamedRule kRules[] = {{"resize", resize}, {"upsample", upsample}};

}  // namespace

std::span<const NamedRule> resizing_rules() { return kRules; }

}  // namespace tensorlike::onnx
