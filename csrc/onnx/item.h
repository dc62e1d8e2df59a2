// What the bodies of ONNX's ops calculate with: tensors, numbers, words, dtypes, lists of them, and
// graphs that are attributes.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "op/attr.h"
#include "program/program.h"
#include "tensor/raw_tensor.h"

namespace tensorlike::onnx {

// A tensor of a program that is being built: a variable, or elements that are known already.
struct Tensor {
  int variable = -1;
  Ref<RawTensor> known = {};
  Spec spec = {};
  const Program* home = nullptr;  // whose variable it is
};

using Sizes = std::vector<int64_t>;
inline Sizes sizes_of(const Tensor& x) { return {x.spec.shape.begin(), x.spec.shape.end()}; }

struct Item;
using Items = std::vector<Item>;

using List = std::shared_ptr<const Items>;

class Subgraph;
using Graphs = std::shared_ptr<const Subgraph>;

struct Item {
  using Value =
      std::variant<Nothing, bool, int64_t, double, std::string, DType, Tensor, List, Graphs>;
  Item() = default;
  template <class Part>
    requires(!std::is_same_v<std::remove_cvref_t<Part>, Item>)
  explicit Item(Part&& part) : value(std::forward<Part>(part)) {}

  Value value;

  bool is_given() const { return !std::holds_alternative<Nothing>(value); }
  // What it must be; ErrorKind::kArgument where it is something else. `what` names it.
  bool truth(std::string_view what) const;
  int64_t integer(std::string_view what) const;
  double number(std::string_view what) const;
  const std::string& text(std::string_view what) const;
  const Tensor& tensor(std::string_view what) const;
  const Items& list(std::string_view what) const;
  const Subgraph& graph(std::string_view what) const;
  std::vector<int64_t> integers(std::string_view what) const;
  // As an attribute of an op.
  Attr attr(std::string_view what) const;
};

Item list_of(Items items);
Item list_of(std::span<const int64_t> integers);

}  // namespace tensorlike::onnx
