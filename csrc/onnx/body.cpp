#include "onnx/body.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>

#include "base/error.h"
#include "onnx/subgraph.h"

namespace tensorlike::onnx {
namespace {

constexpr int64_t kNone = INT64_MIN;  // an end that a slice does not give

std::string_view kind_name(DType dtype) {
  switch (kind_of(dtype)) {
    case Kind::kBool:
      return "bool";
    case Kind::kInteger:
      return "integer";
    case Kind::kFloating:
      return "floating";
    default:
      return "complex";
  }
}

class Evaluation {
 public:
  Evaluation(const Entry& entry, const Named& values, Calls& calls)
      : entry_(entry), values_(values), calls_(calls), known_(entry.nodes.size()) {}

  Items results(size_t count) {
    Items found;
    for (int64_t result : std::span(entry_.results).first(std::min(count, entry_.results.size()))) {
      found.push_back(value(result));
    }
    return found;
  }

 private:
  const Item& named(std::string_view name) const {
    const auto found = values_.find(name);
    if (found != values_.end()) return found->second;
    fail(ErrorKind::kArgument, said::op(entry_.op), "the body's name '", name, "' must be known");
  }

  const Item& value(int64_t number) {
    std::optional<Item>& known = known_[static_cast<size_t>(number)];
    if (!known) {
      Item made = made_by(entry_.nodes[static_cast<size_t>(number)]);
      known_[static_cast<size_t>(number)] = std::move(made);
    }
    return *known_[static_cast<size_t>(number)];
  }

  Item made_by(const Json::Value& node) {
    auto part = node.list("a node").begin();
    const std::string_view kind = (*part).text("a kind");
    const Json::Value second = *++part;
    if (kind == "name") return named(second.text("a name"));
    if (kind == "number" && second.is(Json::Kind::kText)) {  // one that JSON has not
      return Item(std::strtod(std::string(second.text("a number")).c_str(), nullptr));
    }
    if (kind == "number") return literal(second);
    const std::string function(second.text("a function"));
    const Json::Value args = *++part;
    const Json::Value attrs = *++part;
    return call(function, args, attrs);
  }

  static Json::Value at(const Json::Value& list, size_t index) {
    auto part = list.list("a list").begin();
    for (size_t i = 0; i < index; ++i) ++part;
    return *part;
  }
  // The value of the first attribute of a pseudo-call.
  Item first_attribute(const Json::Value& attrs) { return attribute(at(at(attrs, 0), 1)); }

  Item call(const std::string& function, const Json::Value& args, const Json::Value& attrs) {
    const auto arg = [&](size_t i) -> const Item& { return value(at(args, i).integer("a node")); };
    if (function == "if") return arg(first_attribute(attrs).truth("a condition") ? 0 : 1);
    if (function == "[]") {
      const auto index = static_cast<size_t>(first_attribute(attrs).integer("a number"));
      return arg(0).list("several results").at(index);
    }
    if (function == "number") return first_attribute(attrs);
    if (function == "raise") {
      fail(ErrorKind::kArgument, said::op(entry_.op), first_attribute(attrs).text("a text"));
    }
    if (function == "run") {  // a graph that is an attribute
      Items inputs;
      for (size_t i = 1; i < args.list("arguments").size(); ++i) inputs.push_back(arg(i));
      return arg(0).graph("a graph").run(calls_, inputs).at(0);
    }
    if (function == "size") return Item(element_count(arg(0).tensor("x").spec.shape));
    Items given;
    for (size_t i = 0; i < args.list("arguments").size(); ++i) given.push_back(arg(i));
    NamedItems named_items;
    for (const Json::Value& attr : attrs.list("attributes")) {
      std::string name(at(attr, 0).text("a name"));
      named_items.emplace_back(std::move(name), attribute(at(attr, 1)));
    }
    std::vector<Tensor> made = calls_.call(function, given, named_items);
    if (made.size() == 1) return Item(std::move(made[0]));
    Items several;
    for (Tensor& one : made) several.emplace_back(std::move(one));
    return list_of(std::move(several));
  }

  static Item literal(const Json::Value& value) {
    switch (value.kind()) {
      case Json::Kind::kNull:
        return Item();
      case Json::Kind::kBool:
        return Item(value.flag("a flag"));
      case Json::Kind::kFloat:
        return Item(value.number("a number"));
      case Json::Kind::kText:
        return Item(std::string(value.text("a text")));
      case Json::Kind::kList: {
        Items items;
        for (const Json::Value& part : value.list("a list")) items.push_back(literal(part));
        return list_of(std::move(items));
      }
      default:
        return Item(value.integer("an integer"));
    }
  }

  // The value of a keyword argument.
  Item attribute(const Json::Value& attr) {
    const std::string_view kind = at(attr, 0).text("a kind");
    if (kind == "literal") return literal(at(attr, 1));
    if (kind == "attr") return named(at(attr, 1).text("a name"));
    if (kind == "choice") {
      return attribute(at(attr, attribute(at(attr, 1)).truth("a condition") ? 2 : 3));
    }
    if (kind == "tuple") return tuple(attr);
    if (kind == "calculated") return calculated(attr);
    const Item& of = value(at(attr, 1).integer("a node"));
    if (kind == "given") return Item(of.is_given());
    const Spec& spec = of.tensor("x").spec;
    if (kind == "shape") return list_of(spec.shape);
    if (kind == "dtype") return Item(spec.dtype);
    if (kind == "kind") return Item(std::string(kind_name(spec.dtype)));
    if (kind == "rank") return Item(static_cast<int64_t>(spec.shape.size()));
    if (kind == "size") return Item(element_count(spec.shape));
    const auto rank = static_cast<int64_t>(spec.shape.size());
    int64_t axis = attribute(at(attr, 2)).integer("an axis");
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) {
      fail(ErrorKind::kShape, said::op(entry_.op), "the tensor must have an axis ", axis,
           said::got(to_string(spec)));
    }
    return Item(spec.shape[static_cast<size_t>(axis)]);
  }

  Item tuple(const Json::Value& attr) {
    Items found;
    for (size_t i = 1; i < attr.list("a tuple").size(); ++i) {
      const Item part = attribute(at(attr, i));
      if (const auto* list = std::get_if<List>(&part.value)) {
        found.insert(found.end(), (*list)->begin(), (*list)->end());
      } else {
        found.push_back(part);
      }
    }
    return list_of(std::move(found));
  }

  Item calculated(const Json::Value& attr) {
    const std::string_view name = at(attr, 1).text("a function");
    const Item first = attribute(at(attr, 2));
    if (name == "logical_and" || name == "logical_or") {
      return first.truth("a condition") == (name == "logical_or") ? first : attribute(at(attr, 3));
    }
    Items parts{first};
    for (size_t i = 3; i < attr.list("a call").size(); ++i) parts.push_back(attribute(at(attr, i)));
    if (name != "sliced") return calculate(name, parts);
    const auto count = static_cast<int64_t>(first.list("a list").size());
    const auto end = [&](const Item& item, int64_t fallback) {
      int64_t place = item.integer("an end");
      if (place == kNone) return fallback;
      if (place < 0) place += count;
      return std::clamp<int64_t>(place, 0, count);
    };
    const int64_t begin = end(parts[1], 0), stop = end(parts[2], count);
    const Items& all = first.list("a list");
    return list_of(Items(all.begin() + begin, all.begin() + std::max(begin, stop)));
  }

  const Entry& entry_;
  const Named& values_;
  Calls& calls_;
  std::vector<std::optional<Item>> known_;
};

}  // namespace

Items run_body(const Entry& entry, const Named& values, Calls& calls, size_t outputs) {
  return Evaluation(entry, values, calls).results(outputs);
}

}  // namespace tensorlike::onnx
