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
  double cubic = -0.75, extrapolation = 0;
  bool excludes_outside = false, antialias = false;
};

// An axis: its size and that of the result, the factor between, and the part that is cut out.
struct Along {
  size_t axis;
  int64_t size, out;
  double scale, first, last;
};

double coordinate(const RuleCall& call, const How& how, const Along& along, int64_t at) {
  const auto place = static_cast<double>(at), size = static_cast<double>(along.size);
  const double scale = along.scale, length = size * scale;
  if (how.coordinates == "half_pixel") return (place + 0.5) / scale - 0.5;
  if (how.coordinates == "pytorch_half_pixel") return length > 1 ? (place + 0.5) / scale - 0.5 : 0;
  if (how.coordinates == "asymmetric") return place / scale;
  if (how.coordinates == "align_corners") {
    return length == 1 ? 0 : place * (size - 1) / (length - 1);
  }
  if (how.coordinates == "half_pixel_symmetric") {
    const double share = static_cast<double>(along.out) / length;
    return size / 2 * (1 - share) + (place + 0.5) / scale - 0.5;
  }
  if (how.coordinates == "tf_crop_and_resize") {
    if (length <= 1) return 0.5 * (along.first + along.last) * (size - 1);
    return along.first * (size - 1) +
           place * (along.last - along.first) * (size - 1) / (length - 1);
  }
  call.refuse("coordinate_transformation_mode", "must be one of the standard's modes",
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

double weight(const How& how, double distance) {
  distance = std::abs(distance);
  if (how.mode == "linear") return std::max(1 - distance, 0.0);
  const double a = how.cubic;
  if (distance <= 1) return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
  return distance < 2 ? ((distance - 5) * distance + 8) * distance * a - 4 * a : 0;
}

// For each place of the result so many elements, with their weights.
struct Taps {
  int64_t count = 1;
  std::vector<double> index, share;
  std::vector<bool> outside;  // whether a place lies outside of the input
};

Taps taps_of(const RuleCall& call, const How& how, const Along& along) {
  Taps made;
  const auto last = static_cast<double>(along.size - 1);
  const double wide = how.antialias ? std::max(1 / along.scale, 1.0) : 1.0;
  const double reach = (how.mode == "linear" ? 1.0 : 2.0) * wide;
  const bool is_nearest = how.mode == "nearest";
  if (!(2 * reach * static_cast<double>(along.out) < kMostPlaces)) {
    call.refuse("scales", "must lead to fewer places", text(along.scale));
  }
  if (!is_nearest) made.count = static_cast<int64_t>(std::ceil(2 * reach)) + 1;
  for (int64_t i = 0; i < along.out; ++i) {
    const double place = coordinate(call, how, along, i);
    made.outside.push_back(place < 0 || place > last);
    if (is_nearest) {
      made.index.push_back(nearest(call, how, place));
      made.share.push_back(1);
      continue;
    }
    const double first = std::floor(place - reach) + 1;
    double total = 0;
    for (int64_t k = 0; k < made.count; ++k) {
      const double at = first + static_cast<double>(k);
      double share = weight(how, (at - place) / wide);
      if (how.antialias && std::abs(at - place) >= reach) share = 0;
      if (how.excludes_outside && (at < 0 || at > last)) share = 0;
      made.index.push_back(at);
      made.share.push_back(share);
      total += share;
    }
    if (!(how.excludes_outside || how.antialias) || total == 0) continue;
    for (auto share = made.share.end() - made.count; share != made.share.end(); ++share)
      *share /= total;
  }
  return made;
}

Tensor known(const Calls& calls, const std::vector<double>& numbers, const Dims& shape,
             DType dtype) {
  const Ref<RawTensor> x = RawTensor::empty(DType::kFloat64, shape);
  std::copy(numbers.begin(), numbers.end(), reinterpret_cast<double*>(x->data));
  return calls.known(cast(*x, dtype));
}

// One product with a matrix, where many elements weigh in.
Tensor multiplied(const RuleCall& call, const Tensor& x, const Along& along, const Taps& taps) {
  if (along.out * along.size > kMostPlaces) call.refuse("sizes", "must be smaller", "more");
  std::vector<double> matrix(static_cast<size_t>(along.size * along.out));
  for (size_t i = 0; i < taps.index.size(); ++i) {
    const double at = std::clamp(taps.index[i], 0.0, static_cast<double>(along.size - 1));
    const auto column = static_cast<int64_t>(i) / taps.count;
    matrix[static_cast<size_t>(static_cast<int64_t>(at) * along.out + column)] += taps.share[i];
  }
  std::vector<int64_t> order, back;
  const auto rank = static_cast<int64_t>(x.spec.shape.size());
  const auto axis = static_cast<int64_t>(along.axis);
  for (int64_t i = 0; i < rank; ++i) {
    if (i != axis) order.push_back(i);
    back.push_back(i < axis ? i : i - 1);
  }
  order.push_back(axis);
  back[along.axis] = rank - 1;
  const Item moved = call.one("permute_dims", {Item(x)}, {{"axes", list_of(order)}});
  const Item table(known(call.calls, matrix, {along.size, along.out}, x.spec.dtype));
  const Item made = call.one("matmul", {moved, table});
  return call.calls.one("permute_dims", {made}, {{"axes", list_of(back)}});
}

Tensor gathered(const RuleCall& call, const Tensor& x, const Along& along, const Taps& taps) {
  Dims shape(x.spec.shape.size(), 1);
  shape[along.axis] = along.out;
  Item total;
  for (int64_t k = 0; k < taps.count; ++k) {
    std::vector<double> index, share;
    for (auto i = static_cast<size_t>(k); i < taps.index.size();
         i += static_cast<size_t>(taps.count)) {
      index.push_back(std::clamp(taps.index[i], 0.0, static_cast<double>(along.size - 1)));
      share.push_back(taps.share[i]);
    }
    const auto is = [&](double number) {
      return std::all_of(share.begin(), share.end(), [&](double each) { return each == number; });
    };
    if (is(0) && along.out > 0) continue;
    const Tensor places = known(call.calls, index, {along.out}, DType::kInt64);
    Item one(picked(call.calls, x, places, along.axis));
    if (!is(1)) {
      const Item weights(known(call.calls, share, shape, x.spec.dtype));
      one = call.one("multiply", {one, weights});
    }
    total = total.is_given() ? call.one("add", {total, one}) : one;
  }
  return total.tensor("a result");
}

Tensor resized_along(const RuleCall& call, const Tensor& x, const How& how, const Along& along) {
  if (along.out < 0 || along.out > kMostPlaces || (along.size == 0 && along.out > 0)) {
    call.refuse("sizes", "must be sizes that an image has", text(along.out));
  }
  const Taps taps = taps_of(call, how, along);
  const bool is_dense = taps.count > 5;  // of which one has no weight
  Tensor made = is_dense ? multiplied(call, x, along, taps) : gathered(call, x, along, taps);
  const bool is_cut = how.coordinates == "tf_crop_and_resize";
  if (!is_cut || std::find(taps.outside.begin(), taps.outside.end(), true) == taps.outside.end()) {
    return made;
  }
  Dims shape(x.spec.shape.size(), 1);
  shape[along.axis] = along.out;
  const std::vector<double> outside(taps.outside.begin(), taps.outside.end());
  const Item mask(known(call.calls, outside, shape, DType::kBool));
  return call.calls.one("where", {mask, Item(how.extrapolation), Item(made)});
}

// The axes that change, with the sizes and factors that scales or sizes give.
std::vector<Along> axes_of(const RuleCall& call, const How& how) {
  const Dims& shape = call.tensor("x").spec.shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const bool has_axes = call.values.find("axes") != call.values.end() && call.is_given("axes");
  const Item listed =
      has_axes ? call.item("axes") : calculate("upwards", {Item(int64_t{0}), Item(rank)});
  const auto is_listed = [&](const char* name) {
    const auto found = call.values.find(name);
    return found != call.values.end() && found->second.is_given() &&
           !found->second.list(name).empty();
  };
  const bool by_scales = is_listed("scales");
  if (!by_scales && !is_listed("sizes")) call.refuse("scales", "or sizes must be given", "none");
  const char* name = by_scales ? "scales" : "sizes";
  const Items &axes = listed.list("axes"), &given = call.item(name).list(name);
  if (given.size() != axes.size()) {
    call.refuse(name, text("must be ", axes.size(), " numbers"), text(given.size()));
  }
  std::vector<Along> found;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis =
        static_cast<size_t>(calculate("normal_axis", {axes[i], Item(rank)}).integer("axis"));
    const int64_t size = shape[axis];
    const double number = given[i].number(name);
    const double scale =
        by_scales ? number : number / static_cast<double>(std::max<int64_t>(size, 1));
    const int64_t out = by_scales
                            ? static_cast<int64_t>(std::floor(static_cast<double>(size) * scale))
                            : given[i].integer(name);
    if (!(scale >= 0 && scale < 1e9) || (by_scales && scale == 0)) {
      call.refuse(name, "must be positive", text(number));
    }
    found.push_back({axis, size, out, scale, 0, 1});
  }
  const auto policy = call.values.find("keep_aspect_ratio_policy");
  if (!by_scales && policy != call.values.end() && policy->second.text("a policy") != "stretch") {
    const bool is_smaller = policy->second.text("a policy") == "not_larger";
    double scale = found.empty() ? 1 : found[0].scale;
    for (const Along& one : found) {
      scale = is_smaller ? std::min(scale, one.scale) : std::max(scale, one.scale);
    }
    for (Along& one : found) {
      one.scale = scale;
      one.out = static_cast<int64_t>(std::floor(static_cast<double>(one.size) * scale + 0.5));
    }
  }
  if (how.coordinates != "tf_crop_and_resize") return found;
  const Items& roi = call.item("roi").list("roi");
  if (roi.size() != 2 * found.size()) {
    call.refuse("roi", text("must be ", 2 * found.size(), " numbers"), text(roi.size()));
  }
  for (size_t i = 0; i < found.size(); ++i) {
    found[i].first = roi[i].number("roi");
    found[i].last = roi[i + found.size()].number("roi");
  }
  return found;
}

Items resized(const RuleCall& call, const How& how) {
  Tensor x = call.tensor("x");
  const DType dtype = x.spec.dtype;
  if (how.mode != "nearest" && how.mode != "linear" && how.mode != "cubic") {
    call.refuse("mode", "must be nearest, linear or cubic", how.mode);
  }
  const bool rounds = how.mode != "nearest" && kind_of(dtype) != Kind::kFloating;
  if (rounds) x = call.calls.one("astype", {Item(x)}, {{"dtype", Item(DType::kFloat32)}});
  for (const Along& along : axes_of(call, how)) {
    const bool is_cut = how.coordinates == "tf_crop_and_resize";
    if (along.scale != 1 || along.out != along.size || is_cut) {
      x = resized_along(call, x, how, along);
    }
  }
  if (!rounds) return {Item(std::move(x))};
  return {call.one("astype", {call.one("round", {Item(x)})}, {{"dtype", Item(dtype)}})};
}

Items resize(const RuleCall& call) {
  const std::string& mode = call.item("mode").text("mode");
  return resized(
      call,
      {mode, call.item("coordinate_transformation_mode").text("mode"),
       call.item("nearest_mode").text("mode"), call.item("cubic_coeff_a").number("cubic_coeff_a"),
       call.item("extrapolation_value").number("extrapolation_value"),
       call.integer("exclude_outside") != 0, call.integer("antialias") != 0 && mode != "nearest"});
}

// The older form.
Items upsample(const RuleCall& call) {
  return resized(call, {call.item("mode").text("mode"), "asymmetric", "floor"});
}

constexpr NamedRule kResizingRules[] = {{"resize", resize}, {"upsample", upsample}};

}  // namespace

std::span<const NamedRule> resizing_rules() { return kResizingRules; }

}  // namespace tensorlike::onnx
