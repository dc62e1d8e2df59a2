// What bodies calculate from numbers, sizes and lists: the same functions as in
// export/onnx/importer/attribute_functions.py, which says more of each.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "onnx/body.h"
#include "onnx/tensor.h"

namespace tensorlike::onnx {
namespace {

bool are_integers(const Items& parts) {
  return std::all_of(parts.begin(), parts.end(), [](const Item& part) {
    return std::holds_alternative<int64_t>(part.value) || std::holds_alternative<bool>(part.value);
  });
}

template <class Whole, class Real>
Item either_way(const Items& parts, Whole whole, Real real) {
  if (are_integers(parts))
    return Item(whole(parts[0].integer("a number"), parts[1].integer("a number")));
  return Item(real(parts[0].number("a number"), parts[1].number("a number")));
}

// Sums and products that are too large are wrong, and refused as sizes later; not undefined.
int64_t sum_of(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t difference_of(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t product_of(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == 0) fail(ErrorKind::kArgument, said::op("onnx"), "a divisor must not be 0");
  if (b == -1) return difference_of(0, a);
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

// Python's operators, on numbers.
Item add(const Items& parts) {
  return either_way(parts, sum_of, [](double a, double b) { return a + b; });
}
Item subtract(const Items& parts) {
  return either_way(parts, difference_of, [](double a, double b) { return a - b; });
}
Item multiply(const Items& parts) {
  return either_way(parts, product_of, [](double a, double b) { return a * b; });
}
Item divide(const Items& parts) {
  return Item(parts[0].number("a number") / parts[1].number("a number"));
}
Item floor_divide(const Items& parts) {
  return either_way(parts, floor_quotient, [](double a, double b) { return std::floor(a / b); });
}
Item remainder(const Items& parts) {
  return either_way(
      parts,
      [](int64_t a, int64_t b) { return difference_of(a, product_of(b, floor_quotient(a, b))); },
      [](double a, double b) { return a - b * std::floor(a / b); });
}
Item minimum(const Items& parts) {
  return parts[1].number("a number") < parts[0].number("a number") ? parts[1] : parts[0];
}
Item maximum(const Items& parts) {
  return parts[1].number("a number") > parts[0].number("a number") ? parts[1] : parts[0];
}

bool are_equal(const Item& a, const Item& b) {
  if (const auto* list = std::get_if<List>(&a.value)) {
    const auto* other = std::get_if<List>(&b.value);
    return other != nullptr && (*list)->size() == (*other)->size() &&
           std::equal((*list)->begin(), (*list)->end(), (*other)->begin(), are_equal);
  }
  if (const auto* word = std::get_if<std::string>(&a.value)) {
    const auto* other = std::get_if<std::string>(&b.value);
    return other != nullptr && *word == *other;
  }
  if (const auto* dtype = std::get_if<DType>(&a.value)) {
    const auto* other = std::get_if<DType>(&b.value);
    return other != nullptr && *dtype == *other;
  }
  const auto is_number = [](const Item& x) {
    return std::holds_alternative<int64_t>(x.value) || std::holds_alternative<bool>(x.value) ||
           std::holds_alternative<double>(x.value);
  };
  if (is_number(a) && is_number(b)) return a.number("a number") == b.number("a number");
  return !a.is_given() && !b.is_given();
}
Item equal(const Items& parts) { return Item(are_equal(parts[0], parts[1])); }
Item not_equal(const Items& parts) { return Item(!are_equal(parts[0], parts[1])); }
Item less(const Items& parts) {
  return Item(parts[0].number("a number") < parts[1].number("a number"));
}
Item less_equal(const Items& parts) {
  return Item(parts[0].number("a number") <= parts[1].number("a number"));
}
Item greater(const Items& parts) {
  return Item(parts[0].number("a number") > parts[1].number("a number"));
}
Item greater_equal(const Items& parts) {
  return Item(parts[0].number("a number") >= parts[1].number("a number"));
}
Item logical_not(const Items& parts) { return Item(!parts[0].truth("a flag")); }

// Lists.
Item item(const Items& parts) {
  const Items& all = parts[0].list("a list");
  int64_t index = parts[1].integer("an index");
  if (index < 0) index += static_cast<int64_t>(all.size());
  if (index < 0 || static_cast<size_t>(index) >= all.size()) {
    fail(ErrorKind::kArgument, said::op("onnx"), "a list must have an element ", index);
  }
  return all[static_cast<size_t>(index)];
}
Item part(const Items& parts) {
  const Items& all = parts[0].list("a list");
  const auto count = static_cast<int64_t>(all.size());
  const auto place = [&](const Item& end, int64_t fallback) {
    if (!end.is_given()) return fallback;
    const int64_t at = end.integer("an end");
    return std::clamp<int64_t>(at < 0 ? at + count : at, 0, count);
  };
  const int64_t begin = place(parts[1], 0), end = place(parts[2], count);
  return list_of(Items(all.begin() + begin, all.begin() + std::max(begin, end)));
}
Item product(const Items& parts) {
  int64_t total = 1;
  for (int64_t size : part(parts).integers("sizes")) {
    if (__builtin_mul_overflow(total, size, &total)) {
      fail(ErrorKind::kShape, said::op("onnx"), "a product of sizes must be a number that we have");
    }
  }
  return Item(total);
}
Item joined(const Items& parts) {
  Items found;
  for (const Item& part : parts) {
    if (const auto* list = std::get_if<List>(&part.value)) {
      found.insert(found.end(), (*list)->begin(), (*list)->end());
    } else {
      found.push_back(part);
    }
  }
  return list_of(std::move(found));
}
Item repeated(const Items& parts) {
  const int64_t count = std::clamp<int64_t>(parts[1].integer("a count"), 0, kMaxDims * 2);
  return list_of(Items(static_cast<size_t>(count), parts[0]));
}
Item length(const Items& parts) {
  return Item(static_cast<int64_t>(parts[0].list("a list").size()));
}
Item upwards(const Items& parts) {
  Items found;
  const int64_t first = parts[0].integer("a number");
  const int64_t last = std::min<int64_t>(parts[1].integer("a number"), first + 2 * kMaxDims);
  for (int64_t i = first; i < last; ++i) found.emplace_back(i);
  return list_of(std::move(found));
}
Item backwards(const Items& parts) {
  Items found;
  for (int64_t i = parts[0].integer("a rank") - 1; i >= 0; --i) found.emplace_back(i);
  return list_of(std::move(found));
}
// The permutation of so many axes that swaps the last two.
Item swapped(const Items& parts) {
  Items found = upwards({Item(int64_t{0}), parts[0]}).list("axes");
  if (found.size() > 1) std::swap(found[found.size() - 1], found[found.size() - 2]);
  return list_of(std::move(found));
}
Item either(const Items& parts) { return parts[0].is_given() ? parts[0] : parts[1]; }
Item ones_like(const Items& parts) {
  const bool is_there = parts[0].is_given() && !parts[0].list("a list").empty();
  return is_there ? parts[0] : repeated({Item(int64_t{1}), parts[1]});
}

// Axes, pads and windows.
int64_t from_front(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    fail(ErrorKind::kShape, said::op("onnx"), said::argument("axis"), "must be an axis of ", rank,
         " dimensions", said::got(axis));
  }
  return axis < 0 ? axis + rank : axis;
}
Item normal_axis(const Items& parts) {
  return Item(from_front(parts[0].integer("axis"), parts[1].integer("a rank")));
}
Item axes_or_all(const Items& parts) {
  if (parts[0].is_given() && !parts[0].list("axes").empty()) return parts[0];
  return parts[1].truth("a flag") ? list_of(Items()) : Item();
}
Item widths_of(const Items& parts) {
  const std::vector<int64_t> pads = parts[0].integers("pads");
  const int64_t rank = parts[2].integer("a rank");
  std::vector<int64_t> axes;
  if (parts[1].is_given()) axes = parts[1].integers("axes");
  for (int64_t i = 0; !parts[1].is_given() && i < rank; ++i) axes.push_back(i);
  if (pads.size() != 2 * axes.size()) {
    fail(ErrorKind::kShape, said::op("Pad"), said::argument("pads"), "must be ", 2 * axes.size(),
         " numbers, two for each axis", said::got(pads.size()));
  }
  std::vector<int64_t> widths(static_cast<size_t>(2 * rank), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(from_front(axes[i], rank));
    widths[2 * axis] = pads[i];
    widths[2 * axis + 1] = pads[i + axes.size()];
  }
  return list_of(widths);
}
Item is_symmetric(const Items& parts) {
  const std::vector<int64_t> pads = parts[0].integers("pads");
  const auto half = static_cast<std::ptrdiff_t>(pads.size() / 2);
  const bool is_even =
      std::equal(pads.begin(), pads.begin() + half, pads.begin() + half, pads.end());
  return Item(is_even &&
              std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad >= 0; }));
}
Item margins(const Items& parts) {
  const std::vector<int64_t> pads = parts[0].integers("pads");
  std::vector<int64_t> widths{0, 0, 0, 0};
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    widths.push_back(pads[i]);
    widths.push_back(pads[i + pads.size() / 2]);
  }
  return list_of(widths);
}
Item window_pads(const Items& parts) {
  const std::string& how = parts[0].text("auto_pad");
  const std::vector<int64_t> sizes = parts[2].integers("sizes");
  const size_t count = sizes.size();
  if (how == "VALID") return list_of(std::vector<int64_t>(2 * count, 0));
  if (how.empty() || how == "NOTSET") {
    if (!parts[1].is_given()) return list_of(std::vector<int64_t>(2 * count, 0));
    if (parts[1].list("pads").size() == 2 * count) return parts[1];
    fail(ErrorKind::kShape, said::op("onnx"), said::argument("pads"), "must be ", 2 * count,
         " numbers, two for each spatial axis", said::got(parts[1].list("pads").size()));
  }
  const std::vector<int64_t> kernel = parts[3].integers("kernel"),
                             strides = parts[4].integers("strides"),
                             dilations = parts[5].integers("dilations");
  if (kernel.size() != count || strides.size() != count || dilations.size() != count) {
    fail(ErrorKind::kShape, said::op("onnx"), "a window must have ", count, " spatial axes");
  }
  std::vector<int64_t> pads(2 * count);
  for (size_t i = 0; i < count; ++i) {
    const int64_t steps = difference_of(0, floor_quotient(difference_of(0, sizes[i]), strides[i]));
    const int64_t reach = sum_of(product_of(difference_of(steps, 1), strides[i]),
                                 product_of(difference_of(kernel[i], 1), dilations[i]));
    const int64_t total = std::max<int64_t>(difference_of(sum_of(reach, 1), sizes[i]), 0);
    pads[i] = how == "SAME_LOWER" ? total - total / 2 : total / 2;
    pads[i + count] = total - pads[i];
  }
  return list_of(pads);
}

// Numbers and dtypes.
Item root(const Items& parts) { return Item(std::sqrt(parts[0].number("a number"))); }
Item integer(const Items& parts) { return Item(static_cast<int64_t>(parts[0].number("a number"))); }
Item dtype_named(const Items& parts) { return Item(dtype_of(parts[0].integer("a dtype"))); }
// The lowest or the highest number of a dtype, infinities among them.
Item limit(const Items& parts) {
  const auto* dtype = std::get_if<DType>(&parts[0].value);
  if (dtype == nullptr) fail(ErrorKind::kArgument, said::op("onnx"), "a dtype must be given");
  const bool is_high = parts[1].text("a side") == "highest";
  if (kind_of(*dtype) == Kind::kFloating) return Item(is_high ? INFINITY : -INFINITY);
  const bool is_signed = !is_unsigned(*dtype);
  const size_t bits = 8 * size_of(*dtype) - (is_signed ? 1 : 0);
  if (!is_high)
    return Item(is_signed ? -1 - static_cast<int64_t>(~uint64_t{0} >> (64 - bits)) : int64_t{0});
  if (bits == 64) fail(ErrorKind::kDType, said::op("onnx"), "a number of 64 bits must have a sign");
  return Item(static_cast<int64_t>(~uint64_t{0} >> (64 - bits)));
}
Item is_empty(const Items& parts) {
  const std::vector<int64_t> sizes = parts[0].integers("shape");
  return Item(std::find(sizes.begin(), sizes.end(), 0) != sizes.end());
}
Item is_integer(const Items& parts) {
  const std::string& kind = parts[0].text("a kind");
  return Item(kind == "signed" || kind == "unsigned" || kind == "integer");
}

struct NumberFunction {
  std::string_view name;
  size_t parts;
  Item (*function)(const Items& parts);
};
constexpr size_t kAny = SIZE_MAX;
constexpr NumberFunction kFunctions[] = {
    {"add", 2, add},
    {"subtract", 2, subtract},
    {"multiply", 2, multiply},
    {"divide", 2, divide},
    {"floor_divide", 2, floor_divide},
    {"remainder", 2, remainder},
    {"minimum", 2, minimum},
    {"maximum", 2, maximum},
    {"equal", 2, equal},
    {"not_equal", 2, not_equal},
    {"less", 2, less},
    {"less_equal", 2, less_equal},
    {"greater", 2, greater},
    {"greater_equal", 2, greater_equal},
    {"logical_not", 1, logical_not},
    {"item", 2, item},
    {"part", 3, part},
    {"product", 3, product},
    {"joined", kAny, joined},
    {"repeated", 2, repeated},
    {"length", 1, length},
    {"upwards", 2, upwards},
    {"backwards", 1, backwards},
    {"swapped", 1, swapped},
    {"either", 2, either},
    {"ones_like", 2, ones_like},
    {"normal_axis", 2, normal_axis},
    {"axes_or_all", 2, axes_or_all},
    {"widths_of", 3, widths_of},
    {"is_symmetric", 1, is_symmetric},
    {"margins", 1, margins},
    {"window_pads", 6, window_pads},
    {"root", 1, root},
    {"integer", 1, integer},
    {"dtype_named", 1, dtype_named},
    {"limit", 2, limit},
    {"is_empty", 1, is_empty},
    {"is_integer", 1, is_integer},
};

}  // namespace

Item calculate(std::string_view function, const Items& parts) {
  for (const NumberFunction& named : kFunctions) {
    if (named.name != function) continue;
    if (named.parts == kAny || named.parts == parts.size()) return named.function(parts);
    break;
  }
  fail(ErrorKind::kArgument, said::op("onnx"), "the core must have the function '", function,
       "' of numbers", said::got("none"));
}

}  // namespace tensorlike::onnx
