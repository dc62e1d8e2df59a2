#include "onnx/fed.h"

#include <algorithm>

#include "tensor/raw_tensor.h"

namespace tensorlike::onnx {
namespace {

void check_shape(const ValueInfo& input, const RawTensor& x) {
  bool fits = x.shape.size() == input.dimensions.size();
  std::string shape;
  for (size_t i = 0; i < input.dimensions.size(); ++i) {
    const Program::Dimension& size = input.dimensions[i];
    const bool is_known = size.size != kUnknownSize;
    fits = fits && (!is_known || size.size == x.shape[i]);
    shape += (i > 0 ? ", " : "") + (is_known ? std::to_string(size.size) : size.name);
  }
  if (fits) return;
  fail(ErrorKind::kShape, said::op("onnx"), said::argument(input.name),
       "must have the model's shape (", shape, ")", said::got(to_string(x.shape)));
}

}  // namespace

void check_fed(const Graph& graph, const Fed& fed) {
  std::string known;
  for (const ValueInfo& input : graph.inputs) known += (known.empty() ? "" : ", ") + input.name;
  for (const auto& [name, value] : fed) {
    const auto is_it = [&](const ValueInfo& input) { return input.name == name; };
    const auto input = std::find_if(graph.inputs.begin(), graph.inputs.end(), is_it);
    if (input == graph.inputs.end()) {
      fail(ErrorKind::kArgument, said::op("onnx"), "what is fed must be inputs of the model",
           said::got(name), said::fix(known.empty() ? "feed nothing" : "its inputs are " + known));
    }
    if (input->has_shape) check_shape(*input, *value);
  }
}

}  // namespace tensorlike::onnx
