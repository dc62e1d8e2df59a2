#include "onnx/missing.h"

#include "onnx/rules.h"

namespace tensorlike::onnx {
namespace {

bool is_meant(const Node& node, const Opsets& opsets) {
  const Entry* entry = find_entry(node.domain, node.op, version_in(opsets, node.domain));
  return entry != nullptr &&
         (entry->meaning != Entry::Meaning::kRule || find_rule(entry->text) != nullptr);
}

void look(const Model& model, const std::vector<Node>& nodes, const Opsets& opsets, int depth,
          std::set<std::string>& found) {
  if (depth > kMostDepth) return;
  for (const Node& node : nodes) {
    if (model.function_of(node) == nullptr && !is_meant(node, opsets)) found.insert(node.text());
    for (const Attribute& attribute : node.attributes) {
      if (attribute.graph) look(model, attribute.graph->nodes, opsets, depth + 1, found);
    }
  }
}

}  // namespace

std::set<std::string> missing_ops(const Model& model) {
  std::set<std::string> found;
  look(model, model.graph.nodes, model.opsets, 0, found);
  for (const FunctionProto& function : model.functions) {
    Opsets opsets = function.opsets;
    opsets.insert(model.opsets.begin(), model.opsets.end());
    look(model, function.nodes, opsets, 0, found);
  }
  return found;
}

}  // namespace tensorlike::onnx
