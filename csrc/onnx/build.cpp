#include "onnx/build.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "onnx/fed.h"
#include "onnx/missing.h"
#include "onnx/rules.h"
#include "onnx/subgraph.h"
#include "onnx/wire.h"

namespace tensorlike::onnx {
namespace {

constexpr int64_t kMostNodes = 1 << 20;  // that are run, in loops and functions each time

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
  if (!x.known) need_numbers(x, node.text(), input.name);
  Items numbers;
  if (kind_of(x.spec.dtype) == Kind::kFloating) {
    const Ref<RawTensor> wide = contiguous(*cast(*x.known, DType::kFloat64));
    const auto* begin = reinterpret_cast<const double*>(wide->ready("onnx").data);
    for (int64_t i = 0; i < wide->count; ++i) numbers.emplace_back(begin[i]);
  } else {
    for (int64_t number : integers_of(x, input.name)) numbers.emplace_back(number);
  }
  if (input.kind == "ints" || input.kind == "floats") return list_of(std::move(numbers));
  if (numbers.size() == 1 && input.kind == "int") {
    return Item(static_cast<int64_t>(std::clamp(numbers[0].number(input.name), -0x1p62, 0x1p62)));
  }
  if (numbers.size() == 1) return numbers[0];
  fail(ErrorKind::kShape, said::op(node.text()), said::argument(input.name), "must be one number",
       said::got(to_string(x.spec)));
}

class Builder {
 public:
  // `left`: how many nodes may be run.
  Builder(const Model& model, const Fed& fed, int64_t& left, Built& built)
      : model_(model), fed_(fed), left_(left), built_(built), own_(*built.file.program) {}

  void build() {
    Names names;
    std::set<std::string> filled;
    for (const auto& [name, value] : model_.graph.initializers) filled.insert(name);
    for (const ValueInfo& input : model_.graph.inputs) {
      // What the model fills may be fed all the same.
      if (filled.count(input.name) == 0 || fed_.count(input.name) > 0) {
        names[input.name] = added(input);
      }
    }
    run(model_.graph, names, model_.opsets, nullptr, 0);
    for (const ValueInfo& output : model_.graph.outputs) {
      const Tensor& x = found(names, nullptr, output.name).tensor(output.name);
      built_.file.results.emplace_back(output.name, own_.variable(x));
    }
  }

 private:
  using Names = std::map<std::string, Item>;
  // Names of the graphs around, the attributes of the function around.
  struct Around {
    const Names* names = nullptr;
    const Around* next = nullptr;
    const Named* attributes = nullptr;
  };

  // While a graph goes into another program.
  struct Turn {
    Turn(Calls*& place, Calls& calls) : place(place), before(std::exchange(place, &calls)) {}
    ~Turn() { place = before; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    Calls*& place;
    Calls* const before;
  };

  // A graph that is an attribute of a node that is being run.
  class Inner final : public Subgraph {
   public:
    Inner(Builder& builder, const Graph& graph, const Opsets& opsets, const Around& around,
          int depth)
        : builder_(builder), graph_(graph), opsets_(opsets), around_(around), depth_(depth) {}

    size_t outputs() const override { return graph_.outputs.size(); }
    Items run(Calls& calls, const Items& inputs) const override {
      if (inputs.size() != graph_.inputs.size()) {
        refuse_model(
            text("a graph of ", graph_.inputs.size(), " inputs that is given ", inputs.size()));
      }
      Names names;
      for (size_t i = 0; i < inputs.size(); ++i) names[graph_.inputs[i].name] = inputs[i];
      const Turn turn(builder_.calls_, calls);
      builder_.run(graph_, names, opsets_, &around_, depth_ + 1);
      Items made;
      for (const ValueInfo& output : graph_.outputs) {
        made.push_back(builder_.found(names, &around_, output.name));
      }
      return made;
    }

   private:
    Builder& builder_;
    const Graph& graph_;
    const Opsets& opsets_;
    const Around& around_;
    const int depth_;
  };

  Item added(const ValueInfo& input) {
    const auto given = fed_.find(input.name);
    std::vector<Program::Dimension> sizes = input.dimensions;
    if (given != fed_.end()) {
      const RawTensor& x = *given->second;
      if (built_.fixed.count(input.name) > 0 && x.dtype == input.dtype) {
        return Item(own_.known(given->second));
      }
      sizes.clear();
      for (int64_t size : x.shape) sizes.push_back({size, {}});
    }
    const auto is_open = [](const Program::Dimension& size) { return size.size == kUnknownSize; };
    const bool has_shape = given != fed_.end() || input.has_shape;
    if (!input.is_tensor || !has_shape || std::any_of(sizes.begin(), sizes.end(), is_open)) {
      fail(ErrorKind::kArgument, said::op("onnx"), said::argument(input.name),
           "must be given a shape, since the model leaves it open", said::got("none"),
           said::fix("feed it"));
    }
    return Item(own_.of_variable(built_.file.program->add_input(input.name, input.dtype, sizes)));
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
    for (const auto& [name, value] : graph.initializers) {
      names.emplace(name, Item(calls_->known(value)));
    }
    run(graph.nodes, names, opsets, around, nullptr, depth);
  }

  void run(const std::vector<Node>& nodes, Names& names, const Opsets& opsets, const Around* around,
           const Named* attributes, int depth) {
    if (depth > kMostDepth)
      refuse_model(text("graphs or functions more than ", kMostDepth, " deep"));
    for (const Node& node : nodes) {
      if (--left_ < 0) refuse_model(text("one that runs more than ", kMostNodes, " nodes"));
      calls_->place = node.name.empty() ? node.text() : node.name;
      Items given;
      for (const std::string& name : node.inputs) {
        given.push_back(name.empty() ? Item() : found(names, around, name));
      }
      const Around here{&names, around, attributes};
      const Items made = results(node, given, opsets, here, depth);
      for (size_t i = 0; i < node.outputs.size() && i < made.size(); ++i) {
        const std::string& name = node.outputs[i];
        if (!name.empty() && !names.emplace(name, made[i]).second) {
          refuse_model("the name '" + name + "' made twice in a graph");
        }
      }
    }
  }

  Items results(const Node& node, const Items& given, const Opsets& opsets, const Around& here,
                int depth) {
    if (const FunctionProto* function = model_.function_of(node)) {
      return call(*function, node, given, opsets, here, depth);
    }
    const Entry& entry = *find_entry(node.domain, node.op, version_in(opsets, node.domain));
    const Named values = values_of(entry, node, given, {opsets, here, depth});
    if (entry.groups() > 1) return by_groups(entry, values);
    if (entry.meaning == Entry::Meaning::kBody)
      return run_body(entry, values, *calls_, node.outputs.size());
    if (entry.meaning == Entry::Meaning::kRule) {
      return find_rule(entry.text)({entry, values, *calls_, node.outputs.size()});
    }
    const Items& all = values.at(entry.inputs[0].name).list("inputs");
    if (all.empty()) refuse_model(node.text() + " of nothing");
    Item total = all[0];
    for (size_t i = 1; i < all.size(); ++i) total = Item(calls_->one(entry.text, {total, all[i]}));
    return {total};
  }

  // The results for each group of tensors, one kind after the other.
  Items by_groups(const Entry& entry, const Named& values) {
    std::vector<std::string> names;
    for (const Input& input : entry.inputs) {
      if (input.is_variadic) names.push_back(input.name);
    }
    const size_t count = values.at(names[0]).list("inputs").size();
    std::vector<Items> made;
    for (size_t i = 0; i < count; ++i) {
      Named own = values;
      for (const std::string& name : names) own[name] = values.at(name).list("inputs")[i];
      made.push_back(run_body(entry, own, *calls_, entry.results.size()));
    }
    Items found;
    for (size_t kind = 0; kind < entry.results.size(); ++kind) {
      for (const Items& group : made) found.push_back(group[kind]);
    }
    return found;
  }

  // Where a node is run.
  struct Place {
    const Opsets& opsets;
    const Around& around;
    int depth;
  };

  // An attribute of a node, or what it stands for in a function.
  Item attribute_of(const Attribute& attribute, const Place& place) {
    if (attribute.reference.empty() && attribute.type == Attribute::kGraph) {
      return Item(Graphs(std::make_shared<const Inner>(*this, *attribute.graph, place.opsets,
                                                       place.around, place.depth)));
    }
    if (attribute.reference.empty()) return item_of(attribute, *calls_);
    for (const Around* at = &place.around; at != nullptr; at = at->next) {
      if (at->attributes == nullptr) continue;
      const auto value = at->attributes->find(attribute.reference);
      return value == at->attributes->end() ? Item() : value->second;
    }
    refuse_model("the attribute '" + attribute.reference + "' of no function");
  }

  Named values_of(const Entry& entry, const Node& node, const Items& given, const Place& place) {
    Named values(entry.attrs.begin(), entry.attrs.end());
    for (const Attribute& attribute : node.attributes) {
      const auto known = values.find(attribute.name);
      if (known == values.end()) {
        fail(ErrorKind::kArgument, said::op(node.text()), "it has no attribute '", attribute.name,
             "'");
      }
      Item value = attribute_of(attribute, place);
      if (!value.is_given()) continue;
      entry.check(attribute.name, value);
      known->second = std::move(value);
    }
    size_t first_of_many = entry.inputs.size();
    for (size_t i = 0; i < entry.inputs.size(); ++i) {
      const Input& input = entry.inputs[i];
      if (input.is_variadic) {
        first_of_many = std::min(first_of_many, i);
        const size_t rest = given.size() - std::min(first_of_many, given.size());
        const size_t count = rest / entry.groups();
        if (rest % entry.groups() != 0 || (entry.groups() > 1 && count == 0)) {
          fail(ErrorKind::kArgument, said::op(node.text()), said::argument("inputs"), "must be ",
               entry.groups(), " for each tensor that moves", said::got(rest));
        }
        const size_t at = std::min(first_of_many, given.size()) + (i - first_of_many) * count;
        const auto begin = given.begin() + static_cast<std::ptrdiff_t>(at);
        values[input.name] = list_of(Items(begin, begin + static_cast<std::ptrdiff_t>(count)));
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
        fail(ErrorKind::kArgument, said::op(node.text()), said::argument(input.name),
             "must be given", said::got("none"));
      }
    }
    return values;
  }

  Items call(const FunctionProto& function, const Node& node, const Items& given,
             const Opsets& opsets, const Around& here, int depth) {
    Named attributes;
    for (const Attribute& attribute : function.defaults) {
      attributes[attribute.name] = item_of(attribute, *calls_);
    }
    for (const Attribute& attribute : node.attributes) {
      attributes[attribute.name] = attribute_of(attribute, {opsets, here, depth});
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

  const Model& model_;
  const Fed& fed_;
  int64_t& left_;
  Built& built_;
  Calls own_;
  Calls* calls_ = &own_;  // of the program that is being built: the model's, or one in an op
};

// The inputs from which a variable follows.
std::set<std::string> inputs_behind(const Program& program, int variable) {
  std::set<int> wanted{variable};
  for (auto step = program.steps().rbegin(); step != program.steps().rend(); ++step) {
    const auto is_wanted = [&](int made) { return wanted.count(made) > 0; };
    if (std::any_of(step->outputs.begin(), step->outputs.end(), is_wanted)) {
      wanted.insert(step->inputs.begin(), step->inputs.end());
    }
  }
  std::set<std::string> names;
  for (int input : program.inputs()) {
    if (wanted.count(input) > 0) {
      names.insert(program.variables()[static_cast<size_t>(input)].name);
    }
  }
  return names;
}

}  // namespace

Built build_program(const Model& model, const Fed& fed) {
  const std::set<std::string> missing = missing_ops(model);
  if (!missing.empty()) {
    std::string names;
    for (const std::string& op : missing) names += (names.empty() ? "" : ", ") + op;
    fail(ErrorKind::kArgument, said::op("onnx"), "the core must have a meaning of all ops",
         said::got("none of " + names), said::fix("convert the model in Python, which has more"));
  }
  check_fed(model.graph, fed);
  int64_t left = kMostNodes;
  std::set<std::string> fixed;
  while (true) {
    Built built{{}, fixed};
    try {
      Builder(model, fed, left, built).build();
      return built;
    } catch (const NumberNeeded& error) {
      if (error.tensor.home != built.file.program.get()) throw;
      for (const std::string& name : inputs_behind(*built.file.program, error.tensor.variable)) {
        if (fed.count(name) > 0) fixed.insert(name);
      }
      if (fixed.size() == built.fixed.size()) throw;
    }
  }
}

}  // namespace tensorlike::onnx
