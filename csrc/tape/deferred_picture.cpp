// A tape as a picture: the graph that seed 001 shows, in Graphviz's language, one statement a line.
#include <set>

#include "tape/deferred.h"

namespace tensorlike::tape {
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

class Picture {
 public:
  // The ops of a tape as records in a box of their own.
  void add_tape(const std::vector<OpHandle>& ops, const std::string& title) {
    const std::string box = std::to_string(boxes_++);
    nodes_ += "  subgraph cluster_" + box + " {\n    label=\"" + title +
              "\";\n    style=filled;\n    color=lightgrey;\n"
              "    node [shape=record, style=filled, fillcolor=white];\n";
    for (size_t i = 0; i < ops.size(); ++i) {
      const std::string name = text("op", box, "_", i);
      nodes_ += text("    ", name, " [label=\"{type: ", escape(ops[i].type()), " | {input | {",
                     record(ops[i].inputs, name, "i"), "}} | {output | {",
                     record(ops[i].outputs, name, "o"), "}}}\"];\n");
    }
    nodes_ += "  }\n";
  }

  // A variable and its gradient.
  void add_gradient(const Desc& variable, const Desc& gradient) {
    gradients_ += text("  ", variable_node(variable), " -> ", variable_node(gradient),
                       " [label=\"Grad()\", style=dashed];\n");
    if (const auto made = made_.find(gradient.id); made != made_.end()) {
      edges_ += "  " + made->second + " -> " + variable_node(gradient) + ";\n";
    }
  }

  std::string text_of() const {
    return "digraph G {\n" + nodes_ + variables_ + edges_ + gradients_ + "}\n";
  }

 private:
  // One column of a record; also the edges into it, or where later edges start.
  std::string record(const std::vector<Slot>& slots, const std::string& node, const char* side) {
    std::string out;
    size_t number = 0;
    for (const Slot& slot : slots) {
      for (const Operand& operand : slot.operands) {
        const std::string port = side + std::to_string(number++);
        out += (out.empty() ? "<" : " | <") + port + "> " + escape(slot.name) + ": " +
               escape(operand.desc->name);
        if (*side == 'o') {
          made_[operand.desc->id] = node + ":" + port;
          continue;
        }
        const auto made = made_.find(operand.desc->id);
        edges_ += "  " + (made != made_.end() ? made->second : variable_node(*operand.desc)) +
                  " -> " + node + ":" + port + ";\n";
      }
    }
    return out;
  }

  std::string variable_node(const Desc& desc) {
    const std::string name = "v" + std::to_string(desc.id);
    if (drawn_.insert(desc.id).second) {
      variables_ += text("  ", name, " [shape=box, label=\"", escape(desc.name), "\\n",
                         escape(to_string(desc.spec)), "\"];\n");
    }
    return name;
  }

  int boxes_ = 0;
  std::string nodes_, variables_, edges_, gradients_;
  std::map<uint64_t, std::string> made_;  // by which port of which op
  std::set<uint64_t> drawn_;
};

}  // namespace

std::string Tape::to_dot() const {
  Picture picture;
  picture.add_tape(ops_, "forward tape");
  if (!backward_) return picture.text_of();
  picture.add_tape(backward_->ops_, "backward tape");
  for (const auto& [desc, gradient] : gradients_) picture.add_gradient(*desc, *gradient);
  return picture.text_of();
}

}  // namespace tensorlike::tape
