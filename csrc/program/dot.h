// Programs as a picture: a graph in Graphviz's language, one statement a line.
#pragma once

#include <map>
#include <set>

#include "program/program.h"

namespace tensorlike {

class Picture {
 public:
  // What is written of an op: its type, and the names in its slots; or all that is known of it.
  enum class Labels : uint8_t { kSlots, kWhole };
  explicit Picture(Labels labels = Labels::kSlots) : labels_(labels) {}

  // The ops of a program as records in a box of their own. A variable is that of another program
  // where `ids` gives both the same number.
  void add(const Program& program, const std::string& title, const std::vector<uint64_t>& ids = {});
  // A variable and its gradient: number, name, and what they are.
  struct Node {
    uint64_t id;
    std::string name;
    std::string what;
  };
  void add_gradient(const Node& variable, const Node& gradient);

  std::string text() const;

 private:
  std::string record(const Program& program, const Program::Step& step, const std::string& node,
                     bool is_output, const std::vector<uint64_t>& ids);
  std::string node_of(const Node& node);

  Labels labels_;
  int boxes_ = 0;
  std::string nodes_, variables_, edges_, gradients_;
  std::map<uint64_t, std::string> made_;  // by which port of which op
  std::set<uint64_t> drawn_;
};

// The name of an op's argument, as its declaration has it.
const std::string& slot_name(const Op& op, size_t input);
std::span<const ArgSpec> arguments_of(const Op& op);

}  // namespace tensorlike
