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
  const auto listed = [&](const std::vector<int64_t>& numbers) {
    const Ref<RawTensor> tensor =
        RawTensor::empty(DType::kInt64, {static_cast<int64_t>(numbers.size())});
    std::copy(numbers.begin(), numbers.end(), tensor->as<int64_t>());
    return call.calls.known(tensor);
  };
  const Tensor places = listed(made.first);
  return {Item(picked(call.calls, x, places, axis)), Item(places), Item(listed(made.which)),
          Item(listed(made.counts))};
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
    {"non_max_suppression", non_max_suppression}, {"unique", unique}, {"bit_cast", bit_cast}};

}  // namespace

std::span<const NamedRule> known_rules() { return kKnownRules; }

}  // namespace tensorlike::onnx
