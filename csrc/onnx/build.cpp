#include "onnx/build.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "onnx/rules.h"
#include "onnx/wire.h"

namespace tensorlike::onnx {
namespace {

constexpr int kMostDepth = 64;  // graphs in graphs, and functions that call functions

std::string described(const Node& node) {
  return node.domain.empty() ? node.op : node.domain + "." + node.op;
}

const Function* find_function(const Model& model, const Node& node) {
  for (const Function& function : model.functions) {
    const std::string domain = function.domain == "ai.onnx" ? "" : function.domain;
    if (function.name == node.op && domain == node.domain) return &function;
  }
  return nullptr;
}

int64_t version(const std::map<std::string, int64_t>& opsets, const std::string& domain) {
  const auto found = opsets.find(domain);
  return found == opsets.end() ? 1 : found->second;
}

// The ops of a model that have no meaning here, each once.
class Missing {
 public:
  explicit Missing(const Model& model) : model_(model) {
    look(model.graph.nodes, model.opsets, 0);
    for (const Function& function : model.functions) {
      std::map<std::string, int64_t> opsets = function.opsets;
      opsets.insert(model.opsets.begin(), model.opsets.end());
      look(function.nodes, opsets, 0);
    }
  }
  const std::set<std::string>& ops() const { return ops_; }

 private:
  void look(const std::vector<Node>& nodes, const std::map<std::string, int64_t>& opsets,
            int depth) {
    if (depth > kMostDepth) return;
    for (const Node& node : nodes) {
      const bool is_known = find_function(model_, node) != nullptr || is_meant(node, opsets);
      if (!is_known) ops_.insert(described(node));
      for (const Attribute& attribute : node.attributes) {
        if (attribute.graph) look(attribute.graph->nodes, opsets, depth + 1);
      }
    }
  }
  static bool is_meant(const Node& node, const std::map<std::string, int64_t>& opsets) {
    if (node.op == "If" && node.domain.empty()) return true;
    const Entry* entry = find_entry(node.domain, node.op, version(opsets, node.domain));
    return entry != nullptr &&
           (entry->meaning != Entry::Meaning::kRule || find_rule(entry->text) != nullptr);
  }

  const Model& model_;
  std::set<std::string> ops_;
};

Item item_of(const Attribute& attribute, const Calls& calls) {
  switch (attribute.type) {
    case Attribute::kFloat:
      return Item(attribute.number);
    case Attribute::kInt:
      return Item(attribute.integer);
    case Attribute::kString:
      return Item(attribute.text);
    case Attribute::kTensor:
      return Item(calls.known(attribute.tensor));
    case Attribute::kInts:
      return list_of(attribute.integers);
    case Attribute::kFloats:
    case Attribute::kStrings: {
      Items items;
      for (float number : attribute.numbers) items.emplace_back(static_cast<double>(number));
      for (const std::string& word : attribute.texts) items.emplace_back(word);
      return list_of(std::move(items));
    }
    default:
      refuse_model("the attribute '" + attribute.name + "' without a value");
  }
}

// The elements of a known tensor, as the kind of an input says.
Item read_known(const Tensor& x, const Input& input, const Node& node) {
  if (input.kind == "array" || input.kind == "scalar") return Item(x);
  if (!x.known) {
    fail(ErrorKind::kArgument, said::op(described(node)), said::argument(input.name),
         "must follow from the model and from shapes alone",
         said::got("what depends on the elements of an input"));
  }
  Items numbers;
  if (kind_of(x.spec.dtype) == Kind::kFloating) {
    const Ref<RawTensor> wide = contiguous(*cast(*x.known, DType::kFloat64));
    const auto* begin = reinterpret_cast<const double*>(wide->ready("onnx").data);
    for (int64_t i = 0; i < wide->count; ++i) numbers.emplace_back(begin[i]);
  } else {
    for (int64_t number : integers_of(x, input.name)) numbers.emplace_back(number);
  }
  if (input.kind == "ints" || input.kind == "floats") return list_of(std::move(numbers));
  if (numbers.size() == 1) return numbers[0];
  fail(ErrorKind::kShape, said::op(described(node)), said::argument(input.name),
       "must be one number", said::got(to_string(x.spec)));
}

class Builder {
 public:
  Builder(const Model& model, const Shapes& shapes, ProgramFile& file)
      : model_(model), shapes_(shapes), file_(file), calls_(*file.program) {}

  void build() {
    Names names;
    std::set<std::string> filled;
    for (const auto& [name, value] : model_.graph.initializers) filled.insert(name);
    for (const Value& input : model_.graph.inputs) {
      if (filled.count(input.name) == 0) names[input.name] = Item(added(input));
    }
    run(model_.graph, names, model_.opsets, nullptr, 0);
    for (const Value& output : model_.graph.outputs) {
      const Tensor& x = found(names, nullptr, output.name).tensor(output.name);
      file_.results.emplace_back(output.name, calls_.variable(x));
    }
  }

 private:
  using Names = std::map<std::string, Item>;
  using Opsets = std::map<std::string, int64_t>;
  // Names of the graphs around, the attributes of the function around.
  struct Around {
    const Names* names = nullptr;
    const Around* next = nullptr;
    const Named* attributes = nullptr;
  };

  Tensor added(const Value& input) {
    const auto given = shapes_.find(input.name);
    std::vector<Program::Dimension> sizes = input.dimensions;
    if (given != shapes_.end()) {
      sizes.clear();
      for (int64_t size : given->second) sizes.push_back({size, {}});
    }
    const auto is_open = [](const Program::Dimension& size) { return size.size == kUnknownSize; };
    if (!input.is_tensor || std::any_of(sizes.begin(), sizes.end(), is_open)) {
      fail(ErrorKind::kArgument, said::op("onnx"), said::argument(input.name),
           "must be given a shape, since the model leaves it open", said::got("none"),
           said::fix("feed it"));
    }
    const int number = file_.program->add_input(input.name, input.dtype, sizes);
    return calls_.of_variable(number);
  }

  const Item& found(const Names& names, const Around* around, const std::string& name) const {
    const auto here = names.find(name);
    if (here != names.end()) return here->second;
    for (; around != nullptr; around = around->next) {
      const auto there = around->names->find(name);
      if (there != around->names->end()) return there->second;
    }
    refuse_model("the name '" + name + "', which nothing before makes");
  }

  void run(const Graph& graph, Names& names, const Opsets& opsets, const Around* around,
           int depth) {
    for (const auto& [name, value] : graph.initializers) names[name] = Item(calls_.known(value));
    run(graph.nodes, names, opsets, around, nullptr, depth);
  }

  void run(const std::vector<Node>& nodes, Names& names, const Opsets& opsets, const Around* around,
           const Named* attributes, int depth) {
    if (depth > kMostDepth)
      refuse_model(text("graphs or functions more than ", kMostDepth, " deep"));
    for (const Node& node : nodes) {
      calls_.place = node.name.empty() ? described(node) : node.name;
      Items given;
      for (const std::string& name : node.inputs) {
        given.push_back(name.empty() ? Item() : found(names, around, name));
      }
      const Around here{&names, around, attributes};
      const Items made = results(node, given, opsets, here, depth);
      for (size_t i = 0; i < node.outputs.size() && i < made.size(); ++i) {
        if (!node.outputs[i].empty()) names[node.outputs[i]] = made[i];
      }
    }
  }

  Items results(const Node& node, const Items& given, const Opsets& opsets, const Around& here,
                int depth) {
    if (const Function* function = find_function(model_, node)) {
      return call(*function, node, given, opsets, here, depth);
    }
    if (node.op == "If" && node.domain.empty()) return choose(node, given, opsets, here, depth);
    const Entry& entry = *find_entry(node.domain, node.op, version(opsets, node.domain));
    const Named values = values_of(entry, node, given, here);
    if (entry.meaning == Entry::Meaning::kBody)
      return run_body(entry, values, calls_, node.outputs.size());
    if (entry.meaning == Entry::Meaning::kRule) {
      return find_rule(entry.text)({entry, values, calls_, node.outputs.size()});
    }
    const Items& all = values.at(entry.inputs[0].name).list("inputs");
    if (all.empty()) refuse_model(described(node) + " of nothing");
    Item total = all[0];
    for (size_t i = 1; i < all.size(); ++i) total = Item(calls_.one(entry.text, {total, all[i]}));
    return {total};
  }

  // An attribute of a node, or what it stands for in a function.
  Item attribute_of(const Attribute& attribute, const Around& here) const {
    if (attribute.reference.empty()) return item_of(attribute, calls_);
    for (const Around* at = &here; at != nullptr; at = at->next) {
      if (at->attributes == nullptr) continue;
      const auto value = at->attributes->find(attribute.reference);
      return value == at->attributes->end() ? Item() : value->second;
    }
    refuse_model("the attribute '" + attribute.reference + "' of no function");
  }

  Named values_of(const Entry& entry, const Node& node, const Items& given, const Around& here) {
    Named values(entry.attrs.begin(), entry.attrs.end());
    for (const Attribute& attribute : node.attributes) {
      const auto known = values.find(attribute.name);
      if (known == values.end()) {
        fail(ErrorKind::kArgument, said::op(described(node)), "it has no attribute '",
             attribute.name, "'");
      }
      Item value = attribute_of(attribute, here);
      if (value.is_given()) known->second = std::move(value);
    }
    for (size_t i = 0; i < entry.inputs.size(); ++i) {
      const Input& input = entry.inputs[i];
      if (input.is_variadic) {
        const auto begin = given.begin() + static_cast<std::ptrdiff_t>(std::min(i, given.size()));
        values[input.name] = list_of(Items(begin, given.end()));
        continue;
      }
      if (i < given.size() && given[i].is_given()) {
        const bool is_plain = input.kind.empty();
        values[input.name] =
            is_plain ? given[i] : read_known(given[i].tensor(input.name), input, node);
        continue;
      }
      const auto [value, is_new] = values.emplace(input.name, Item());
      if (!value->second.is_given() && !input.is_optional) {
        fail(ErrorKind::kArgument, said::op(described(node)), said::argument(input.name),
             "must be given", said::got("none"));
      }
    }
    return values;
  }

  Items call(const Function& function, const Node& node, const Items& given, const Opsets& opsets,
             const Around& here, int depth) {
    Named attributes;
    for (const Attribute& attribute : function.defaults) {
      attributes[attribute.name] = item_of(attribute, calls_);
    }
    for (const Attribute& attribute : node.attributes) {
      attributes[attribute.name] = attribute_of(attribute, here);
    }
    Names names;
    for (size_t i = 0; i < function.inputs.size(); ++i) {
      names[function.inputs[i]] = i < given.size() ? given[i] : Item();
    }
    Opsets versions = function.opsets;
    versions.insert(opsets.begin(), opsets.end());
    run(function.nodes, names, versions, nullptr, &attributes, depth + 1);
    Items made;
    for (const std::string& output : function.outputs)
      made.push_back(found(names, nullptr, output));
    return made;
  }

  // The branch that a condition says, which must be known.
  Items choose(const Node& node, const Items& given, const Opsets& opsets, const Around& here,
               int depth) {
    const Tensor& condition = given.empty() ? Tensor{} : given[0].tensor("condition");
    const bool holds = integers_of(condition, "condition").at(0) != 0;
    const Attribute* branch = node.find(holds ? "then_branch" : "else_branch");
    if (branch == nullptr || !branch->graph) refuse_model("an If without its branches");
    Names names;
    run(*branch->graph, names, opsets, &here, depth + 1);
    Items made;
    for (const Value& output : branch->graph->outputs) {
      made.push_back(found(names, &here, output.name));
    }
    return made;
  }

  const Model& model_;
  const Shapes& shapes_;
  ProgramFile& file_;
  Calls calls_;
};

}  // namespace

ProgramFile build_program(const Model& model, const Shapes& shapes) {
  const Missing missing(model);
  if (!missing.ops().empty()) {
    std::string names;
    for (const std::string& op : missing.ops()) names += (names.empty() ? "" : ", ") + op;
    fail(ErrorKind::kArgument, said::op("onnx"), "the core must have a meaning of all ops",
         said::got("none of " + names), said::fix("convert the model in Python, which has more"));
  }
  ProgramFile file;
  Builder(model, shapes, file).build();
  return file;
}

}  // namespace tensorlike::onnx
