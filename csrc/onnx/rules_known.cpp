// Ops on elements that are known when the program is made, since what they find says what the
// program is.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "onnx/rules.h"
#include "onnx/tensor.h"

namespace tensorlike::onnx {
namespace {

// The elements of a known tensor.
std::vector<double> reals(const RuleCall& call, const char* name) {
  const Tensor& x = call.tensor(name);
  if (!x.known) need_numbers(x, call.entry.op, name);
  const Ref<RawTensor> wide = contiguous(*cast(*x.known, DType::kFloat64));
  const auto* begin = reinterpret_cast<const double*>(wide->ready("onnx").data);
  return {begin, begin + wide->count};
}

Tensor listed(const RuleCall& call, const Sizes& numbers) {
  const Ref<RawTensor> made =
      RawTensor::empty(DType::kInt64, {static_cast<int64_t>(numbers.size())});
  std::copy(numbers.begin(), numbers.end(), made->as<int64_t>());
  return call.calls.known(made);
}

struct Box {
  double low[2], high[2];
  double area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

Box box_of(const double* numbers, bool is_by_centre) {
  Box made{};
  for (size_t i = 0; i < 2; ++i) {
    const double a = numbers[i], b = numbers[i + 2];
    made.low[i] = is_by_centre ? a - b / 2 : std::min(a, b);
    made.high[i] = is_by_centre ? a + b / 2 : std::max(a, b);
  }
  return made;
}

double overlap(const Box& a, const Box& b) {
  double shared = 1;
  for (size_t i = 0; i < 2; ++i) {
    shared *= std::max(std::min(a.high[i], b.high[i]) - std::max(a.low[i], b.low[i]), 0.0);
  }
  const double all = a.area() + b.area() - shared;
  return all > 0 ? shared / all : 0;
}

// The boxes that no better one of their class overlaps too much: (image, class, box).
Items non_max_suppression(const RuleCall& call) {
  const Dims boxes = call.tensor("boxes").spec.shape, scores = call.tensor("scores").spec.shape;
  if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 || boxes[0] != scores[0] ||
      boxes[1] != scores[2]) {
    call.refuse("scores", "must be (images, classes, boxes), and boxes (images, boxes, 4)",
                to_string(call.tensor("scores").spec));
  }
  const std::vector<double> corners = reals(call, "boxes"), values = reals(call, "scores");
  const auto number = [&](const char* name) {
    return call.is_given(name) ? call.item(name).number(name) : 0.0;
  };
  const double most = number("most"), limit = number("overlap"), least = number("least");
  const bool is_by_centre = call.integer("center_point_box") != 0;
  const auto count = static_cast<size_t>(boxes[1]);
  std::vector<int64_t> found;
  for (int64_t row = 0; row < scores[0] * scores[1]; ++row) {
    const int64_t image = row / scores[1];
    const double* own = values.data() + row * boxes[1];
    std::vector<size_t> order(count), kept;
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return own[a] > own[b]; });
    const auto box = [&](size_t at) {
      return box_of(corners.data() + (static_cast<size_t>(image) * count + at) * 4, is_by_centre);
    };
    for (size_t at : order) {
      if (static_cast<double>(kept.size()) >= most) break;
      if (call.is_given("least") && !(own[at] > least)) continue;
      const Box one = box(at);
      const auto covers = [&](size_t other) { return overlap(one, box(other)) > limit; };
      if (std::any_of(kept.begin(), kept.end(), covers)) continue;
      kept.push_back(at);
      for (int64_t part : {image, row % scores[1], static_cast<int64_t>(at)}) found.push_back(part);
    }
  }
  const Ref<RawTensor> made =
      RawTensor::empty(DType::kInt64, {static_cast<int64_t>(found.size() / 3), 3});
  std::copy(found.begin(), found.end(), made->as<int64_t>());
  return {Item(call.calls.known(made))};
}

// Which of the different rows of a matrix each row is, and where they are first: in order, or as
// they are met. A row with a NaN is like no other.
struct Different {
  std::vector<int64_t> first, which, counts;
};

template <class T>
Different different(const RawTensor& rows, int64_t count, bool is_sorted) {
  const auto* begin = reinterpret_cast<const T*>(rows.data);
  const int64_t size = count == 0 ? 0 : rows.count / count;
  const auto is_nan = [](T x) { return x != x; };
  const auto is_below = [&](T a, T b) { return a < b || (is_nan(b) && !is_nan(a)); };
  const auto less = [&](int64_t a, int64_t b) {
    return std::lexicographical_compare(begin + a * size, begin + (a + 1) * size, begin + b * size,
                                        begin + (b + 1) * size, is_below);
  };
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), less);
  std::vector<std::vector<int64_t>> groups;
  for (int64_t at : order) {
    const bool is_apart = std::any_of(begin + at * size, begin + (at + 1) * size, is_nan);
    if (groups.empty() || is_apart || less(groups.back().back(), at)) groups.emplace_back();
    groups.back().push_back(at);
  }
  if (!is_sorted) {
    std::sort(groups.begin(), groups.end(),
              [](const auto& a, const auto& b) { return a.front() < b.front(); });
  }
  Different made;
  made.which.resize(order.size());
  for (const std::vector<int64_t>& group : groups) {
    for (int64_t at : group) {
      made.which[static_cast<size_t>(at)] = static_cast<int64_t>(made.first.size());
    }
    made.first.push_back(group.front());
    made.counts.push_back(static_cast<int64_t>(group.size()));
  }
  return made;
}

// The different elements, or parts along an axis.
Items unique(const RuleCall& call) {
  const bool has_axis = call.is_given("axis");
  Tensor x = call.tensor("x");
  if (!x.known) need_numbers(x, "Unique", "x");
  if (!has_axis) x = call.reshaped(x, std::vector<int64_t>{-1}).tensor("x");
  const size_t axis = has_axis ? call.axis("axis", x.spec.shape.size()) : 0;
  std::vector<int64_t> order{static_cast<int64_t>(axis)};
  for (size_t i = 0; i < x.spec.shape.size(); ++i) {
    if (i != axis) order.push_back(static_cast<int64_t>(i));
  }
  const Tensor turned = call.calls.one("permute_dims", {Item(x)}, {{"axes", list_of(order)}});
  const bool is_real = kind_of(x.spec.dtype) == Kind::kFloating;
  if (kind_of(x.spec.dtype) == Kind::kComplex || x.spec.dtype == DType::kUInt64) {
    call.refuse("x", "must be of numbers that int64 or float64 holds", to_string(x.spec));
  }
  const Ref<RawTensor> wide =
      contiguous(*cast(*turned.known, is_real ? DType::kFloat64 : DType::kInt64));
  wide->ready("onnx");
  const bool is_sorted = call.integer("sorted") != 0;
  const int64_t count = turned.spec.shape[0];
  const Different made = is_real ? different<double>(*wide, count, is_sorted)
                                 : different<int64_t>(*wide, count, is_sorted);
  const Tensor places = listed(call, made.first);
  return {Item(picked(call.calls, x, places, axis)), Item(places), Item(listed(call, made.which)),
          Item(listed(call, made.counts))};
}

// Where the samples of a region lie along an axis: two elements for each, and how much of either.
struct Samples {
  Sizes low, high;
  std::vector<double> low_share, high_share;
  int64_t count = 0;  // of each part
};

Samples samples_of(const RuleCall& call, double first, double length, int64_t parts, int64_t size) {
  constexpr double kMost = 1 << 20;
  const int64_t ratio = call.integer("sampling_ratio");
  const double step = length / static_cast<double>(parts);
  const double wanted = ratio > 0 ? static_cast<double>(ratio) : std::max(std::ceil(step), 0.0);
  if (!(wanted * static_cast<double>(parts) <= kMost)) {
    call.refuse("rois", "must be regions of fewer samples", text(wanted));
  }
  Samples made;
  made.count = static_cast<int64_t>(wanted);
  for (int64_t i = 0; i < parts * made.count; ++i) {
    const double within = (static_cast<double>(i % made.count) + 0.5) / wanted;
    const double at = first + (static_cast<double>(i / made.count) + within) * step;
    const bool inside = at >= -1 && at <= static_cast<double>(size);
    const double own = inside ? std::max(at, 0.0) : 0.0;
    const int64_t low = std::min(static_cast<int64_t>(own), size - 1);
    const double rest = low == size - 1 ? 0.0 : own - static_cast<double>(low);
    made.low.push_back(low);
    made.high.push_back(std::min(low + 1, size - 1));
    made.low_share.push_back(inside ? 1 - rest : 0.0);
    made.high_share.push_back(inside ? rest : 0.0);
  }
  return made;
}

// One region of an image (channels, height, width), in parts of as many rows and columns.
Item region(const RuleCall& call, const Tensor& image, const Samples& rows, const Samples& columns,
            const Sizes& parts) {
  Items taps;
  for (const bool lower : {false, true}) {
    for (const bool right : {false, true}) {
      const Tensor lines = picked(call.calls, image, listed(call, lower ? rows.high : rows.low), 1);
      const Tensor own =
          picked(call.calls, lines, listed(call, right ? columns.high : columns.low), 2);
      const auto& down = lower ? rows.high_share : rows.low_share;
      const auto& across = right ? columns.high_share : columns.low_share;
      const Ref<RawTensor> shares = RawTensor::empty(
          DType::kFloat64,
          {static_cast<int64_t>(down.size()), static_cast<int64_t>(across.size())});
      double* to = shares->as<double>();
      for (double share : down) {
        for (double other : across) *to++ = share * other;
      }
      const Item share(call.calls.known(cast(*shares, image.spec.dtype)));
      taps.push_back(call.one("multiply", {Item(own), share}));
    }
  }
  const bool is_max = call.item("mode").text("mode") == "max";
  Item all = taps[0];
  for (size_t i = 1; i < taps.size(); ++i) {
    all = call.one(is_max ? "maximum" : "add", {all, taps[i]});
  }
  const Sizes shape{image.spec.shape[0], parts[0], rows.count, parts[1], columns.count};
  return call.one(is_max ? "max" : "mean", {call.reshaped(all.tensor("samples"), shape)},
                  {{"axis", list_of(Sizes{2, 4})}});
}

// Regions of interest in one size, by samples between elements in each of their parts.
Items roi_align(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const Dims& shape = x.spec.shape;
  const Dims &given = call.tensor("rois").spec.shape, &places = call.tensor("images").spec.shape;
  if (shape.size() != 4 || given.size() != 2 || given[1] != 4 || places != Dims{given[0]} ||
      shape[2] < 1 || shape[3] < 1) {
    call.refuse("rois", "must be four numbers for each region of images, and have an image each",
                to_string(call.tensor("rois").spec));
  }
  const std::vector<double> rois = reals(call, "rois"), images = reals(call, "images");
  const bool is_half =
      call.item("coordinate_transformation_mode").text("coordinate_transformation_mode") ==
      "half_pixel";
  const double scale = call.item("spatial_scale").number("spatial_scale");
  const Sizes parts{call.integer("output_height"), call.integer("output_width")};
  if (parts[0] < 1 || parts[1] < 1) call.refuse("output_height", "must be sizes", text(parts[0]));
  Items found;
  for (size_t i = 0; i < images.size(); ++i) {
    if (!(images[i] >= 0 && images[i] < static_cast<double>(shape[0]))) {
      call.refuse("images", "must be places of images", text(images[i]));
    }
    std::vector<Slice> own(4);
    const auto image = static_cast<int64_t>(images[i]);
    own[0] = {image, image + 1, 1};
    const Item plane =
        call.reshaped(part_of(call.calls, x, own), Sizes{shape[1], shape[2], shape[3]});
    const auto end = [&](size_t k) { return rois[4 * i + k] * scale - (is_half ? 0.5 : 0.0); };
    const auto length = [&](size_t k) {
      const double all = end(k + 2) - end(k);
      return is_half ? all : std::max(all, 1.0);
    };
    found.push_back(region(call, plane.tensor("an image"),
                           samples_of(call, end(1), length(1), parts[0], shape[2]),
                           samples_of(call, end(0), length(0), parts[1], shape[3]), parts));
  }
  const Sizes none{0, shape[1], parts[0], parts[1]};
  if (found.empty()) {
    const Item zero(call.calls.known(cast(*RawTensor::scalar(DType::kFloat32, 0.0), x.spec.dtype)));
    return {call.one("broadcast_to", {zero}, {{"shape", list_of(none)}})};
  }
  return {call.one("stack", found, {{"axis", Item(int64_t{0})}})};
}

// The largest of each part of regions of interest, whose ends are rounded; 0 of a part without
// elements.
Items max_roi_pool(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const Dims &shape = x.spec.shape, &given = call.tensor("rois").spec.shape;
  const Sizes parts = call.integers("pooled_shape");
  if (shape.size() != 4 || given.size() != 2 || given[1] != 5 || given[0] < 1 ||
      parts.size() != 2 || parts[0] < 1 || parts[1] < 1) {
    call.refuse("rois", "must be an image and four numbers for each region of images",
                to_string(call.tensor("rois").spec));
  }
  const std::vector<double> rois = reals(call, "rois");
  const double scale = call.item("spatial_scale").number("spatial_scale");
  const Item zero = call.one("full", {},
                             {{"shape", list_of(Sizes{shape[1]})},
                              {"fill_value", Item(int64_t{0})},
                              {"dtype", Item(x.spec.dtype)}});
  const auto stacked = [&](const Items& all, int64_t axis) {
    return call.one("stack", all, {{"axis", Item(axis)}});
  };
  Items found;
  for (size_t region = 0; region < static_cast<size_t>(given[0]); ++region) {
    const double* const own = rois.data() + 5 * region;
    const bool is_finite = std::all_of(own, own + 5, [](double x) { return std::isfinite(x); });
    if (!is_finite || own[0] < 0 || own[0] >= static_cast<double>(shape[0])) {
      call.refuse("rois", "must begin with places of images, and be numbers", text(own[0]));
    }
    const auto image = static_cast<int64_t>(own[0]);
    // Where part `k` of the rows (axis 0) or of the columns begins and ends.
    const auto bounds = [&](size_t axis, int64_t k) {
      const double first = std::nearbyint(own[2 - axis] * scale);
      const double last = std::nearbyint(own[4 - axis] * scale);
      const double length = std::max(last - first + 1, 1.0) / static_cast<double>(parts[axis]);
      const auto within = [&](double at) {
        return static_cast<int64_t>(
            std::clamp(at + first, 0.0, static_cast<double>(shape[axis + 2])));
      };
      return std::pair(within(std::floor(static_cast<double>(k) * length)),
                       within(std::ceil(static_cast<double>(k + 1) * length)));
    };
    Items rows;
    for (int64_t i = 0; i < parts[0]; ++i) {
      Items columns;
      for (int64_t j = 0; j < parts[1]; ++j) {
        const auto [top, bottom] = bounds(0, i);
        const auto [left, right] = bounds(1, j);
        if (top >= bottom || left >= right) {
          columns.push_back(zero);
          continue;
        }
        const std::vector<Slice> window{
            {image, image + 1, 1}, {}, {top, bottom, 1}, {left, right, 1}};
        columns.push_back(call.one("max", {Item(part_of(call.calls, x, window))},
                                   {{"axis", list_of(Sizes{0, 2, 3})}}));
      }
      rows.push_back(stacked(columns, -1));
    }
    found.push_back(stacked(rows, -2));
  }
  return {stacked(found, 0)};
}

// The same bits as another dtype of the same width.
Items bit_cast(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  if (!x.known) need_numbers(x, "BitCast", "x");
  const DType dtype = dtype_of(call.integer("to"));
  if (size_of(dtype) != size_of(x.spec.dtype) || dtype == DType::kBool) {
    call.refuse("to", "must be a number as wide as the elements", std::string(name_of(dtype)));
  }
  const Ref<RawTensor> own = contiguous(*x.known);
  own->ready("onnx");
  return {Item(call.calls.known(
      make_ref<RawTensor>(dtype, own->shape, own->strides, own->storage, own->data)))};
}

constexpr NamedRule kKnownRules[] = {
    {"non_max_suppression", non_max_suppression},
    {"max_roi_pool", max_roi_pool},
    {"roi_align", roi_align},
    {"unique", unique},
    {"bit_cast", bit_cast},
};

}  // namespace

std::span<const NamedRule> known_rules() { return kKnownRules; }

}  // namespace tensorlike::onnx
