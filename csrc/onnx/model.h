// What an ONNX file says, as plain data: a graph of nodes, their attributes, and tensors. Fields
// that say nothing of what is computed (texts for people, training, annotations) are passed over.
// https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "tensor/raw_tensor.h"

namespace tensorlike::onnx {

struct Graph;

struct Attribute {
  // The numbers of AttributeProto.AttributeType.
  enum Type : uint8_t {
    kUndefined = 0,
    kFloat = 1,
    kInt = 2,
    kString = 3,
    kTensor = 4,
    kGraph = 5,
    kFloats = 6,
    kInts = 7,
    kStrings = 8,
  };
  std::string name;
  Type type = kUndefined;
  std::string reference = {};  // the attribute of the function around that it stands for
  double number = 0;
  int64_t integer = 0;
  std::string text = {};
  std::vector<float> numbers = {};
  std::vector<int64_t> integers = {};
  std::vector<std::string> texts = {};
  Ref<RawTensor> tensor = {};
  std::shared_ptr<const Graph> graph = {};
};

struct Node {
  std::string op, domain, name, overload;
  std::vector<std::string> inputs, outputs;  // an empty name: none is given
  std::vector<Attribute> attributes;

  const Attribute* find(std::string_view attribute) const;
  // The op, and its domain where it is not ONNX's own.
  std::string text() const { return domain.empty() ? op : domain + "." + op; }
};

// An input or a result: what is known of it.
struct ValueInfo {
  std::string name;
  DType dtype = DType::kFloat32;
  bool is_tensor = false;  // of a dtype that is given
  bool has_shape = false;  // of dimensions that are given
  std::vector<Program::Dimension> dimensions = {};
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<std::pair<std::string, Ref<RawTensor>>> initializers;
  std::vector<ValueInfo> inputs, outputs;
};

using Opsets = std::map<std::string, int64_t>;  // versions by domains; "" is ai.onnx

struct FunctionProto {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> defaults;  // of attributes; those without stand in `attributes`
  std::vector<std::string> attributes;
  std::vector<Node> nodes;
  Opsets opsets;
};

struct Model {
  int64_t ir_version = 0;
  Opsets opsets;
  Graph graph;
  std::vector<FunctionProto> functions;

  // The model's own function that a node calls; null: it is an op.
  const FunctionProto* function_of(const Node& node) const;
};

// The version of a domain's ops; 1 where nothing is said.
int64_t version_in(const Opsets& opsets, const std::string& domain);

// Reads a model; tensors that lie in files of their own are looked for in `folder`, and nowhere
// else. ErrorKind::kArgument where the bytes are none, or hold what we have not, by its name.
Model read_model(std::string_view bytes, const std::string& folder);
Model read_model_file(const std::string& path);

}  // namespace tensorlike::onnx
