#include "program/dot.h"

#include <algorithm>

#include "op/registry.h"

namespace tensorlike {
namespace {

// Names may hold anything; in a label of a record these mean something.
std::string escape(const std::string& name) {
  std::string out;
  for (char c : name) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (std::string_view("\\\"{}|<> ").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// Between quotes only these do.
std::string quoted(const std::string& title) {
  std::string out;
  for (char c : title) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::span<const ArgSpec> arguments_of(const Op& op) {
  if (op.scalar != nullptr) return op.scalar->spec.args;
  if (op.reduction != nullptr) return {&op.reduction->spec.arg, 1};
  return op.cls.spec.args;
}

const std::string& slot_name(const Op& op, size_t input) {
  static const std::string none = "x";
  const std::span<const ArgSpec> args = arguments_of(op);
  return args.empty() ? none : args[std::min(input, args.size() - 1)].name;
}

void Picture::add(const Program& program, const std::string& title,
                  const std::vector<uint64_t>& ids) {
  const std::string box = std::to_string(boxes_++);
  nodes_ += "  subgraph cluster_" + box + " {\n    label=\"" + quoted(title) +
            "\";\n    style=filled;\n    color=lightgrey;\n"
            "    node [shape=record, style=filled, fillcolor=white];\n";
  const auto& steps = program.steps();
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::string name = tensorlike::text("op", box, "_", i);
    const std::string type =
        labels_ == Labels::kWhole ? program.describe(steps[i]) : steps[i].op->name();
    nodes_ += tensorlike::text("    ", name, " [label=\"{type: ", escape(type), " | {input | {",
                               record(program, steps[i], name, false, ids), "}} | {output | {",
                               record(program, steps[i], name, true, ids), "}}}\"];\n");
  }
  nodes_ += "  }\n";
}

// One column of a record; also the edges into it, or where later edges start.
std::string Picture::record(const Program& program, const Program::Step& step,
                            const std::string& node, bool is_output,
                            const std::vector<uint64_t>& ids) {
  const std::vector<int>& numbers = is_output ? step.outputs : step.inputs;
  std::string out;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t number = static_cast<size_t>(numbers[i]);
    const Program::Variable& variable = program.variables()[number];
    const uint64_t id = number < ids.size() ? ids[number] : number;
    const std::string port = (is_output ? "o" : "i") + std::to_string(i);
    const std::string what = program.describe(numbers[i]);
    const std::string slot =
        is_output ? "y" + (numbers.size() == 1 ? "" : std::to_string(i)) : slot_name(*step.op, i);
    std::string label = escape(slot) + ": " + escape(variable.name);
    if (labels_ == Labels::kWhole) {
      label = escape(variable.name.empty() ? what : variable.name);
      if (is_output) label += ": " + escape(what);
    }
    out += (out.empty() ? "<" : " | <") + port + "> " + label;
    if (is_output) {
      made_[id] = node + ":" + port;
      continue;
    }
    if (variable.name.empty()) continue;  // a value that is only described
    const auto made = made_.find(id);
    const std::string from =
        made != made_.end() ? made->second : node_of({id, variable.name, what});
    edges_ += "  " + from + " -> " + node + ":" + port + ";\n";
  }
  return out;
}

std::string Picture::node_of(const Node& node) {
  const std::string name = "v" + std::to_string(node.id);
  if (drawn_.insert(node.id).second) {
    variables_ += tensorlike::text("  ", name, " [shape=box, label=\"", escape(node.name), "\\n",
                                   escape(node.what), "\"];\n");
  }
  return name;
}

void Picture::add_gradient(const Node& variable, const Node& gradient) {
  gradients_ += tensorlike::text("  ", node_of(variable), " -> ", node_of(gradient),
                                 " [label=\"Grad()\", style=dashed];\n");
  if (const auto made = made_.find(gradient.id); made != made_.end()) {
    edges_ += "  " + made->second + " -> " + node_of(gradient) + ";\n";
  }
}

std::string Picture::text() const {
  return "digraph G {\n" + nodes_ + variables_ + edges_ + gradients_ + "}\n";
}

}  // namespace tensorlike
