#include "onnx/model.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <tuple>

#include "base/error.h"
#include "onnx/tensor.h"
#include "onnx/wire.h"

namespace tensorlike::onnx {
namespace {

constexpr int kMostDepth = 64;  // graphs in graphs
constexpr int64_t kMostParts =
    1 << 20;  // nodes, attributes and names: each takes more than its bytes
constexpr uint64_t kMostBytes = uint64_t{1} << 31;  // what Protobuf itself allows

class Reader {
 public:
  explicit Reader(const std::string& folder) : folder_(folder) {}

  Model read(std::string_view bytes) {
    Model model;
    bool has_graph = false;
    for (WireFields field(bytes); field.next();) {
      switch (field.number()) {
        case 1:
          model.ir_version = field.integer();
          break;
        case 7:
          if (has_graph) refuse_model("two graphs");
          has_graph = true;
          model.graph = graph(field.bytes(), 0);
          break;
        case 8:
          add_opset(model.opsets, field.bytes());
          break;
        case 25:
          model.functions.push_back(function(field.bytes()));
          break;
        default:
          break;
      }
    }
    if (!has_graph) refuse_model("none with a graph");
    check_functions(model.functions);
    if (model.opsets.empty()) refuse_model("none that says which versions of ops it has");
    return model;
  }

 private:
  void count() {
    if (++parts_ > kMostParts) refuse_model(text("more than ", kMostParts, " parts"));
  }

  template <class Named>
  static void check_differ(const Named& names, const char* what) {
    std::set<std::string> seen;
    for (const std::string& name : names) {
      if (!seen.insert(name).second) refuse_model(text(what, " '", name, "' twice"));
    }
  }

  template <class Items>
  static std::vector<std::string> names_of(const Items& items) {
    std::vector<std::string> names;
    for (const auto& item : items) names.push_back(item.name);
    return names;
  }

  static void check_functions(const std::vector<FunctionProto>& functions) {
    std::set<std::tuple<std::string, std::string, std::string>> seen;
    for (const FunctionProto& each : functions) {
      if (!seen.insert({each.domain, each.name, each.overload}).second) {
        refuse_model("the function '" + each.name + "' twice");
      }
      check_differ(each.inputs, "the input");
    }
  }

  std::string name(const WireFields& field) {
    count();
    return field.text();
  }

  static void add_opset(Opsets& opsets, std::string_view message) {
    std::string domain;
    int64_t version = 0;
    for (WireFields field(message); field.next();) {
      if (field.number() == 1) domain = field.text();
      if (field.number() == 2) version = field.integer();
    }
    if (domain == "ai.onnx") domain.clear();
    if (opsets.emplace(domain, version).first->second != version) {
      refuse_model("the domain '" + domain + "' in two versions");
    }
  }

  Graph graph(std::string_view message, int depth) {
    if (depth > kMostDepth) refuse_model(text("graphs more than ", kMostDepth, " deep"));
    count();
    Graph made;
    for (WireFields field(message); field.next();) {
      switch (field.number()) {
        case 1:
          made.nodes.push_back(node(field.bytes(), depth));
          break;
        case 2:
          made.name = field.text();
          break;
        case 5:
          count();
          made.initializers.push_back(read_tensor(field.bytes(), folder_));
          break;
        case 11:
          made.inputs.push_back(value(field.bytes()));
          break;
        case 12:
          made.outputs.push_back(value(field.bytes()));
          break;
        case 15:
          refuse_model("a sparse tensor, which we have not");
        default:
          break;
      }
    }
    check_differ(names_of(made.inputs), "the input");
    std::vector<std::string> filled;
    for (const auto& [name, value] : made.initializers) filled.push_back(name);
    check_differ(filled, "the initializer");
    return made;
  }

  Node node(std::string_view message, int depth) {
    count();
    Node made;
    for (WireFields field(message); field.next();) {
      switch (field.number()) {
        case 1:
          made.inputs.push_back(name(field));
          break;
        case 2:
          made.outputs.push_back(name(field));
          break;
        case 3:
          made.name = field.text();
          break;
        case 4:
          made.op = field.text();
          break;
        case 5:
          made.attributes.push_back(attribute(field.bytes(), depth));
          break;
        case 7:
          made.domain = field.text();
          break;
        case 8:
          made.overload = field.text();
          break;
        default:
          break;
      }
    }
    if (made.domain == "ai.onnx") made.domain.clear();
    if (made.op.empty()) refuse_model("a node without an op");
    check_differ(names_of(made.attributes), "the attribute");
    return made;
  }

  Attribute attribute(std::string_view message, int depth) {
    count();
    Attribute made;
    int64_t type = 0;
    for (WireFields field(message); field.next();) {
      switch (field.number()) {
        case 1:
          made.name = field.text();
          break;
        case 2:
          made.number = field.real();
          break;
        case 3:
          made.integer = field.integer();
          break;
        case 4:
          made.text = std::string(field.bytes());
          break;
        case 5:
          made.tensor = read_tensor(field.bytes(), folder_).second;
          break;
        case 6:
          made.graph = std::make_shared<const Graph>(graph(field.bytes(), depth + 1));
          break;
        case 7:
          field.add_to(made.numbers);
          break;
        case 8:
          field.add_to(made.integers);
          break;
        case 9:
          made.texts.push_back(std::string(field.bytes()));
          break;
        case 20:
          type = field.integer();
          break;
        case 21:
          made.reference = field.text();
          break;
        default:
          break;
      }
    }
    if (type < 0 || type > Attribute::kStrings) {
      refuse_model(
          text("the attribute '", made.name, "' of the type ", type, ", which we have not"));
    }
    made.type = static_cast<Attribute::Type>(type);
    if (made.type == Attribute::kTensor && !made.tensor && made.reference.empty()) {
      refuse_model("the attribute '" + made.name + "' without its tensor");
    }
    if (made.type == Attribute::kGraph && !made.graph && made.reference.empty()) {
      refuse_model("the attribute '" + made.name + "' without its graph");
    }
    return made;
  }

  ValueInfo value(std::string_view message) {
    count();
    ValueInfo made;
    for (WireFields field(message); field.next();) {
      if (field.number() == 1) made.name = field.text();
      if (field.number() != 2) continue;
      for (WireFields kind(field.bytes()); kind.next();) {
        if (kind.number() == 1) tensor_type(made, kind.bytes());
      }
    }
    return made;
  }

  static void tensor_type(ValueInfo& made, std::string_view message) {
    for (WireFields field(message); field.next();) {
      if (field.number() == 1) {
        made.dtype = dtype_of(field.integer());
        made.is_tensor = true;
      }
      if (field.number() != 2) continue;
      made.has_shape = true;
      for (WireFields dimension(field.bytes()); dimension.next();) {
        if (dimension.number() == 1) made.dimensions.push_back(size(dimension.bytes()));
      }
    }
    if (made.dimensions.size() > kMaxDims) {
      refuse_model(text("'", made.name, "' of ", made.dimensions.size(), " dimensions"));
    }
  }

  static Program::Dimension size(std::string_view message) {
    Program::Dimension made;
    for (WireFields field(message); field.next();) {
      if (field.number() == 1) made.size = field.integer();
      if (field.number() == 2) made.name = field.text();
    }
    if (made.size < 0 && made.size != kUnknownSize) refuse_model(text("a size of ", made.size));
    return made;
  }

  FunctionProto function(std::string_view message) {
    count();
    FunctionProto made;
    for (WireFields field(message); field.next();) {
      switch (field.number()) {
        case 1:
          made.name = field.text();
          break;
        case 4:
          made.inputs.push_back(name(field));
          break;
        case 5:
          made.outputs.push_back(name(field));
          break;
        case 6:
          made.attributes.push_back(name(field));
          break;
        case 7:
          made.nodes.push_back(node(field.bytes(), 0));
          break;
        case 9:
          add_opset(made.opsets, field.bytes());
          break;
        case 10:
          made.domain = field.text();
          if (made.domain == "ai.onnx") made.domain.clear();
          break;
        case 11:
          made.defaults.push_back(attribute(field.bytes(), 0));
          break;
        case 13:
          made.overload = field.text();
          break;
        default:
          break;
      }
    }
    return made;
  }

  DataFolder folder_;
  int64_t parts_ = 0;
};

}  // namespace

const Attribute* Node::find(std::string_view attribute) const {
  const auto is_it = [&](const Attribute& each) { return each.name == attribute; };
  const auto found = std::find_if(attributes.begin(), attributes.end(), is_it);
  return found == attributes.end() ? nullptr : &*found;
}

const FunctionProto* Model::function_of(const Node& node) const {
  for (const FunctionProto& function : functions) {
    const bool is_it = function.name == node.op && function.domain == node.domain;
    if (is_it && function.overload == node.overload) return &function;
  }
  return nullptr;
}

int64_t version_in(const Opsets& opsets, const std::string& domain) {
  const auto found = opsets.find(domain);
  return found == opsets.end() ? 1 : found->second;
}

Model read_model(std::string_view bytes, const std::string& folder) {
  return Reader(folder).read(bytes);
}

Model read_model_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const auto size = in ? static_cast<int64_t>(in.tellg()) : -1;
  if (size < 0 || static_cast<uint64_t>(size) > kMostBytes) {
    fail(ErrorKind::kArgument, said::op("onnx"), path, " must be an ONNX model",
         said::got(size < 0 ? "none that can be read" : "more than 2 GiB"));
  }
  std::string bytes(static_cast<size_t>(size), '\0');
  in.seekg(0);
  in.read(bytes.data(), size);
  if (!in) fail(ErrorKind::kArgument, said::op("onnx"), path, " must be readable to its end");
  return read_model(bytes, std::filesystem::path(path).parent_path().string());
}

}  // namespace tensorlike::onnx
