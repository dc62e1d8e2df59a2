// Functional calls that Python composes of others, and bodies of ONNX's ops make.
#include "onnx/composed.h"

#include <algorithm>

#include "base/error.h"
#include "onnx/rules.h"

namespace tensorlike::onnx {
namespace {

const Item& attribute(const NamedItems& attrs, std::string_view name) {
  static const Item none;
  const auto is_it = [&](const auto& attr) { return attr.first == name; };
  const auto found = std::find_if(attrs.begin(), attrs.end(), is_it);
  return found == attrs.end() ? none : found->second;
}

// The elements of an axis in the opposite order.
Tensor flip(Calls& calls, const Tensor& x, const NamedItems& attrs) {
  const auto rank = static_cast<int64_t>(x.spec.shape.size());
  const Item axis = calculate("normal_axis", {attribute(attrs, "axis"), Item(rank)});
  std::vector<Slice> slices(x.spec.shape.size());
  slices[static_cast<size_t>(axis.integer("axis"))].step = -1;
  return part_of(calls, x, slices);
}

// The tensor repeated as a whole, side by side.
Tensor tile(Calls& calls, const Tensor& x, const NamedItems& attrs) {
  std::vector<int64_t> counts = attribute(attrs, "repetitions").integers("repeats");
  std::vector<int64_t> sizes(x.spec.shape.begin(), x.spec.shape.end());
  const size_t rank = std::max(counts.size(), sizes.size());
  counts.insert(counts.begin(), rank - counts.size(), 1);
  sizes.insert(sizes.begin(), rank - sizes.size(), 1);
  std::vector<int64_t> single, apart, whole;
  for (size_t i = 0; i < rank; ++i) {
    int64_t size = 0;
    if (counts[i] < 0 || __builtin_mul_overflow(counts[i], sizes[i], &size)) {
      fail(ErrorKind::kShape, said::op("Tile"), said::argument("repeats"),
           "must be counts that lead to a size", said::got(counts[i]));
    }
    for (int64_t number : {int64_t{1}, sizes[i]}) single.push_back(number);
    for (int64_t number : {counts[i], sizes[i]}) apart.push_back(number);
    whole.push_back(size);
  }
  const Item first(calls.one("reshape", {Item(x)}, {{"shape", list_of(single)}}));
  const Item spread(calls.one("broadcast_to", {first}, {{"shape", list_of(apart)}}));
  return calls.one("reshape", {spread}, {{"shape", list_of(whole)}});
}

// Where the row and the column of an element of a matrix hold a condition; zeros elsewhere.
Tensor triangle(Calls& calls, const Tensor& x, const NamedItems& attrs, bool is_upper) {
  const Dims& shape = x.spec.shape;
  if (shape.size() < 2) {
    fail(ErrorKind::kShape, said::op("Trilu"), said::argument("x"), "must be of matrices",
         said::got(to_string(x.spec)));
  }
  const int64_t rows = shape[shape.size() - 2], columns = shape[shape.size() - 1];
  const int64_t k = attribute(attrs, "k").integer("k");
  const Ref<RawTensor> mask = RawTensor::empty(DType::kBool, {rows, columns});
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t above = column - row;
      const bool is_kept = is_upper ? above >= k : above <= k;
      mask->data[row * columns + column] = static_cast<char>(is_kept ? 1 : 0);
    }
  }
  const Tensor zero = calls.known(cast(*RawTensor::scalar(DType::kBool, false), x.spec.dtype));
  return calls.one("where", {Item(calls.known(mask)), Item(x), Item(zero)});
}
Tensor tril(Calls& calls, const Tensor& x, const NamedItems& attrs) {
  return triangle(calls, x, attrs, false);
}
Tensor triu(Calls& calls, const Tensor& x, const NamedItems& attrs) {
  return triangle(calls, x, attrs, true);
}

struct NamedComposed {
  std::string_view name;
  Composed function;
};
constexpr NamedComposed kComposed[] = {
    {"flip", flip}, {"tile", tile}, {"tril", tril}, {"triu", triu}};

}  // namespace

Composed find_composed(std::string_view name) {
  for (const NamedComposed& named : kComposed) {
    if (named.name == name) return named.function;
  }
  return nullptr;
}

}  // namespace tensorlike::onnx
