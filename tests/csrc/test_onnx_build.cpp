// Programs of ONNX models with graphs in graphs, without Python: they compute what the standard
// says, and mutants of them end in an error or in a program.
#include <cstdlib>
#include <functional>

#include "onnx/build.h"
#include "onnx_bytes.h"
#include "tape_support.h"

namespace tensorlike::onnx {
namespace {

#define TL_CHECK(...) tape::expect(__VA_ARGS__, #__VA_ARGS__)

using Names = std::vector<std::string>;
constexpr uint64_t kFloat = 1, kInt64 = 7, kBool = 9;

std::string node(const std::string& op, const Names& inputs, const Names& outputs,
                 const std::string& attributes = {}) {
  std::string made;
  for (const std::string& name : inputs) made += field(1, name);
  for (const std::string& name : outputs) made += field(2, name);
  return field(1, made + field(4, op) + attributes);
}

std::string graph_attribute(const std::string& name, const std::string& graph) {
  return field(5, field(1, name) + field(6, graph) + field(20, 5));
}
std::string number_attribute(const std::string& name, uint64_t number) {
  return field(5, field(1, name) + field(3, number) + field(20, 2));
}

std::string port(const std::string& name, uint64_t type, const std::vector<uint64_t>& sizes) {
  std::string shape;
  for (uint64_t size : sizes) shape += field(1, field(1, size));
  return field(1, name) + field(2, field(1, field(1, type) + field(2, shape)));
}

std::string graph(const std::string& nodes, const Names& inputs, const Names& outputs) {
  std::string made = nodes + field(2, std::string("graph"));
  for (const std::string& name : inputs) made += field(11, port(name, kFloat, {2}));
  for (const std::string& name : outputs) made += field(12, port(name, kFloat, {2}));
  return made;
}

// An If, a loop of three steps with rows, a loop until a sum is large, a scan over the rows, and a
// sequence: of c, a boolean, and x, two numbers.
std::string whole() {
  const std::string yes = graph(node("Add", {"x", "x"}, {"t"}), {}, {"t"});
  const std::string no = graph(node("Neg", {"x"}, {"e"}), {}, {"e"});
  const std::string counted =
      graph(node("Add", {"v", "x"}, {"v2"}) + node("Identity", {"k"}, {"k2"}), {"i", "k", "v"},
            {"k2", "v2", "v2"});
  const std::string until =
      graph(node("Add", {"v", "v"}, {"v2"}) + node("ReduceMax", {"v2"}, {"m"}) +
                node("Less", {"m", "most"}, {"k2"}),
            {"i", "k", "v"}, {"k2", "v2"});
  const std::string summed = graph(
      node("Add", {"s", "r"}, {"s2"}) + node("Mul", {"s2", "x"}, {"y2"}), {"s", "r"}, {"s2", "y2"});
  const std::string nodes =
      node("If", {"c"}, {"a"},
           graph_attribute("then_branch", yes) + graph_attribute("else_branch", no)) +
      node("Loop", {"n", "", "a"}, {"last", "rows"}, graph_attribute("body", counted)) +
      node("Loop", {"", "c", "last"}, {"large"}, graph_attribute("body", until)) +
      node("Scan", {"large", "rows"}, {"sum", "sums"},
           graph_attribute("body", summed) + number_attribute("num_scan_inputs", 1)) +
      node("SequenceConstruct", {"sum", "sums"}, {"all"}) +
      node("SequenceAt", {"all", "one"}, {"y"});
  const auto integer = [](const std::string& name, uint64_t value) {
    return field(5, field(2, kInt64) + field(8, name) + field(7, varint(value)));
  };
  const std::string most = field(5, field(2, kFloat) + field(8, std::string("most")) +
                                        field(4, std::string("\0\0\xc8\x42", 4)));  // 100
  const std::string made = nodes + field(2, std::string("whole")) + integer("n", 3) +
                           integer("one", 1) + most + field(11, port("c", kBool, {})) +
                           field(11, port("x", kFloat, {2})) + field(12, port("y", kFloat, {3, 2}));
  return field(1, 8) + opset("", 17) + field(7, made);
}

Fed fed(bool flag) {
  const Ref<RawTensor> x = RawTensor::empty(DType::kFloat32, {2});
  x->as<float>()[0] = 1;
  x->as<float>()[1] = 2;
  return {{"c", RawTensor::scalar(DType::kBool, flag)}, {"x", x}};
}

std::vector<float> results(Built& built, const Fed& values) {
  Feeds feeds;
  for (const auto& [name, value] : values) feeds.emplace_back(name, value);
  const NamedTensors found = built.file.run(feeds);
  const RawTensor& y = found.at("y")->ready("test");
  return {y.as<float>(), y.as<float>() + y.count};
}

// c: a = 2x, rows 3x, 4x, 5x, then doubled until more than 100. Not c: a = -x, rows 0, x, 2x, and
// the loop does not begin.
void graphs_in_graphs_are_programs_in_programs() {
  const Model model = read_model(whole(), "");
  Built built = build_program(model, fed(true));
  TL_CHECK(built.fixed.empty());
  for (const char* op : {"Cond", "ScanLoop", "WhileLoop"}) {
    TL_CHECK(built.file.program->text().find(op) != std::string::npos);
  }
  const auto wanted = [](float start, const std::vector<float>& rows) {
    std::vector<float> found;
    std::array<float, 2> sum{start, 2 * start};
    for (float row : rows) {
      for (size_t i = 0; i < 2; ++i) {
        const float x = static_cast<float>(i + 1);
        sum[i] += row * x;
        found.push_back(sum[i] * x);
      }
    }
    return found;
  };
  TL_CHECK(results(built, fed(true)) == wanted(80, {3, 4, 5}));
  TL_CHECK(results(built, fed(false)) == wanted(2, {0, 1, 2}));
}

void mutants_are_refused_or_built(int count) {
  const std::string bytes = whole();
  std::mt19937 random(11);
  int built = 0, refused = 0;
  for (int i = 0; i < count; ++i) {
    try {
      build_program(read_model(mutated(bytes, random), ""), fed(i % 2 == 0));
      ++built;
    } catch (const Error&) {
      ++refused;
    }
  }
  TL_CHECK(built > 0 && refused > built);
}

}  // namespace
}  // namespace tensorlike::onnx

int main(int count, char** words) {
  using namespace tensorlike::onnx;
  graphs_in_graphs_are_programs_in_programs();
  mutants_are_refused_or_built(count > 1 ? std::atoi(words[1]) : 200'000);
  return tensorlike::tape::failures == 0 ? 0 : 1;
}
