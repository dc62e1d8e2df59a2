// ONNX files without Python: what they say is read, and what is none is refused: mutants of one
// must end in an error or in a model.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "onnx/model.h"
#include "onnx_bytes.h"
#include "tape_support.h"

namespace tensorlike::onnx {
namespace {

// A claim is told by its own text.
#define TL_CHECK(...) tape::expect(__VA_ARGS__, #__VA_ARGS__)

std::string raw(const std::vector<float>& numbers) {
  std::string bytes(numbers.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

std::string input(const std::string& name) {
  const std::string shape = field(1, field(2, std::string("batch"))) + field(1, field(1, 2));
  return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)));
}

std::string weight(const std::string& more) {
  return field(1, 2) + field(1, 1) + field(2, 1) + field(8, std::string("w")) + more;
}

std::string node(const std::string& op, const std::string& more = {}) {
  return field(1, std::string("x")) + field(1, std::string("w")) + field(2, std::string("y")) +
         field(4, op) + more;
}

// One node, y = LeakyRelu(x, w): nobody infers it here.
std::string model(const std::string& initializer, const std::string& nodes) {
  const std::string graph = nodes + field(2, std::string("graph")) + field(5, initializer) +
                            field(11, input("x")) + field(12, input("y"));
  return field(1, 8) + opset("", 17) + field(7, graph);
}

std::string good() {
  const std::string alpha = field(1, std::string("alpha")) + real_field(2, 0.25F) + field(20, 1);
  const std::string axes =
      field(1, std::string("axes")) + field(8, varint(3) + varint(-1)) + field(20, 7);
  return model(weight(field(9, raw({1.5F, -2.0F}))),
               field(1, node("LeakyRelu", field(5, alpha) + field(5, axes))));
}

bool is_refused(const std::string& bytes, const std::string& folder = {}) {
  try {
    read_model(bytes, folder);
    return false;
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kArgument || error.kind() == ErrorKind::kDType;
  }
}

void what_a_file_says_is_read() {
  const Model found = read_model(good(), "");
  TL_CHECK(found.ir_version == 8 && found.opsets.at("") == 17);
  const Graph& graph = found.graph;
  TL_CHECK(graph.nodes.size() == 1 && graph.nodes[0].op == "LeakyRelu");
  TL_CHECK(graph.nodes[0].find("alpha")->number == 0.25);
  TL_CHECK((graph.nodes[0].find("axes")->integers == std::vector<int64_t>{3, -1}));
  TL_CHECK(graph.nodes[0].find("beta") == nullptr);
  TL_CHECK(graph.inputs[0].dimensions[0].name == "batch" &&
           graph.inputs[0].dimensions[1].size == 2);
  const RawTensor& w = *graph.initializers[0].second;
  TL_CHECK((w.shape == Dims{2, 1}) && reinterpret_cast<const float*>(w.data)[1] == -2.0F);
}

void elements_are_as_many_as_the_shape_says() {
  const std::string nodes = field(1, node("Mul"));
  const std::string packed = field(4, raw({3.0F, 4.0F}));
  const std::string single = real_field(4, 3.0F) + real_field(4, 4.0F);
  for (const std::string& data : {packed, single}) {
    const Model found = read_model(model(weight(data), nodes), "");
    TL_CHECK(reinterpret_cast<const float*>(found.graph.initializers[0].second->data)[1] == 4.0F);
  }
  TL_CHECK(is_refused(model(weight(field(9, raw({1.0F}))), nodes)));
  TL_CHECK(is_refused(model(weight(real_field(4, 3.0F)), nodes)));
  TL_CHECK(is_refused(model(weight(""), nodes)));
  const std::string huge = field(1, uint64_t{1} << 62) + field(1, 8) + field(2, 1);
  TL_CHECK(is_refused(model(huge, nodes)));
  TL_CHECK(is_refused(model(field(1, static_cast<uint64_t>(-1)) + field(2, 1), nodes)));
  TL_CHECK(is_refused(model(field(2, 8) + field(6, std::string("text")), nodes)));   // strings
  TL_CHECK(is_refused(model(field(2, 22) + field(9, std::string("\x12")), nodes)));  // int4
}

void graphs_in_graphs_end() {
  std::string inner = field(2, std::string("inner"));
  for (int depth = 0; depth < 1000; ++depth) {
    const std::string then = field(1, std::string("then_branch")) + field(6, inner) + field(20, 5);
    inner = field(1, node("If", field(5, then)));
    if (depth == 20) TL_CHECK(!is_refused(field(1, 8) + opset("", 17) + field(7, inner)));
  }
  TL_CHECK(is_refused(field(1, 8) + opset("", 17) + field(7, inner)));
}

std::string entry(const std::string& key, const std::string& value) {
  return field(13, field(1, key) + field(2, value));
}

void tensors_in_files_lie_in_the_folder() {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("onnx_" + std::to_string(getpid()));
  fs::create_directories(folder / "in" / "deep");
  const auto write = [&](const fs::path& path) {
    std::ofstream(path, std::ios::binary) << raw({0.0F, 5.0F, 6.0F});
  };
  for (const char* name : {"in/w.bin", "in/deep/w.bin", "outside.bin"}) write(folder / name);
  fs::create_symlink("../outside.bin", folder / "in" / "link.bin");
  fs::create_hard_link(folder / "outside.bin", folder / "in" / "hard.bin");
  const auto of = [&](const std::string& location, const std::string& offset = "4") {
    return model(weight(field(14, 1) + entry("location", location) + entry("offset", offset)),
                 field(1, node("Mul")));
  };
  const std::string in = (folder / "in").string();
  for (const char* name : {"w.bin", "deep/w.bin", "./w.bin"}) {
    const Model found = read_model(of(name), in);
    TL_CHECK(reinterpret_cast<const float*>(found.graph.initializers[0].second->data)[1] == 6.0F);
  }
  for (const std::string name : {"../outside.bin", "deep/../../outside.bin", "link.bin", "hard.bin",
                                 "", "deep", "none.bin", "w.bin/x"}) {
    TL_CHECK(is_refused(of(name), in));
  }
  TL_CHECK(is_refused(of((folder / "outside.bin").string()), in));
  for (const char* offset : {"8", "-4", "99999999999999999999", "four"}) {
    TL_CHECK(is_refused(of("w.bin", offset), in));
  }
  // What no file holds is not asked of memory either.
  const std::string huge = field(1, uint64_t{1} << 40) + field(2, 1) + field(14, 1);
  TL_CHECK(is_refused(model(huge + entry("location", "w.bin"), field(1, node("Mul"))), in));
  fs::remove_all(folder);
}

// Every beginning, then mutants.
void mutants_are_refused_or_read(int count) {
  const std::string whole = good();
  int refused = 0;
  for (size_t size = 0; size < whole.size(); ++size)
    refused += is_refused(whole.substr(0, size)) ? 1 : 0;
  TL_CHECK(refused > static_cast<int>(whole.size()) / 2);
  std::mt19937 random(7);
  for (int i = 0; i < count; ++i) is_refused(mutated(whole, random));
}

}  // namespace
}  // namespace tensorlike::onnx

int main(int count, char** words) {
  using namespace tensorlike::onnx;
  what_a_file_says_is_read();
  elements_are_as_many_as_the_shape_says();
  graphs_in_graphs_end();
  tensors_in_files_lie_in_the_folder();
  mutants_are_refused_or_read(count > 1 ? std::atoi(words[1]) : 200'000);
  return tensorlike::tape::failures == 0 ? 0 : 1;
}
