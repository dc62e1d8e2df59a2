// Programs as files without Python: written, read, run, trained; and mutants of them, which must
// end in an error or in a program.
#include <cstdlib>
#include <fstream>
#include <random>

#include "op/registry.h"
#include "program/file.h"
#include "tape_support.h"
#include "tensor/raw_tensor.h"

namespace tensorlike::tape {
namespace {

const Program::Dimension kBatch{kUnknownSize, "batch"};

Ref<Op> op(const std::string& type, Attributes attributes = {}) {
  return op_by_name(type, std::move(attributes));
}

// An op of a body, over a function of numbers with a gradient, both declared from here.
void declare_ops() {
  ScalarSpec twice;
  twice.name = "filed_twice_the_sine";
  twice.args = {{"x", Category::kRealFloating}};
  twice.expansion = Body{1, {int64_t{2}}, {Step{"sin", {0}}, Step{"multiply", {1, 2}}}, {3}};
  twice.grads = std::vector{Grad{0, {3, {}, {Step{"cos", {0}}, Step{"multiply", {3, 2}}}, {4}}}};
  OpSpec outer;
  outer.name = "FiledScaled";
  outer.args = {{"x", Category::kRealFloating}};
  outer.attrs = {{"factor", attr_type("float"), false, 3.0}};
  outer.define =
      Body{1,
           {},
           {Step{"filed_twice_the_sine", {0}}, Step{"attribute", {}, {{"factor", attr("factor")}}},
            Step{"multiply", {1, 2}}},
           {3}};
  outer.linear = {};
  registry().add_all({twice, outer,
                      FunctionSpec{"filed_twice_the_sine",
                                   "Elemwise",
                                   {{"mode", std::string("filed_twice_the_sine")}},
                                   twice.args},
                      FunctionSpec{"filed_scaled", "FiledScaled", {}, outer.args, outer.attrs}});
}

// One step of training: weight <- weight - 0.1 * 2 x^T (x w - y), and the loss of before.
ProgramFile training() {
  ProgramFile file;
  Program& program = *file.program;
  const int x = program.add_input("x", DType::kFloat32, std::vector{kBatch, {3, {}}});
  const int y = program.add_input("y", DType::kFloat32, std::vector{kBatch, {1, {}}});
  const int w = program.add_state("weight", {DType::kFloat32, {3, 1}});
  const Ref<RawTensor> rate = make_tensor(std::vector<float>{0.1F}, {1});
  const int r = program.capture(rate, rate->spec(), "RawTensor", "rate");
  const auto add = [&](const std::string& type, std::vector<int> inputs, Attributes attrs = {}) {
    return program.append(*op(type, std::move(attrs)), inputs, "train.cpp:1")[0];
  };
  const int error = add("subtract", {add("matmul", {x, w}), y});
  const int loss = add("mean", {add("multiply", {error, error})});
  const int turned = add("permute_dims", {x}, {{"axes", std::vector<int64_t>{1, 0}}});
  const int step = add("multiply", {add("matmul", {turned, error}), r});
  program.assign(w, add("subtract", {w, step}));
  const int64_t batch = program.variables()[0].spec.shape[0];
  const int flat = add("reshape", {x}, {{"shape", std::vector<int64_t>{batch * 3}}});
  program.require(batch, 1, "<", false, "train.cpp:2");
  file.results = {{"loss", loss}, {"scaled", add("filed_scaled", {flat}, {{"factor", 0.5}})}};
  file.weights["weight"] = make_tensor(std::vector<float>{1, 2, 3}, {3, 1});
  return file;
}

Feeds batch_of(int64_t rows) {
  std::vector<float> x, y;
  for (int64_t i = 0; i < rows * 3; ++i) x.push_back(static_cast<float>(i % 5) / 4);
  for (int64_t i = 0; i < rows; ++i) y.push_back(static_cast<float>(i));
  return {{"x", make_tensor(x, {rows, 3})}, {"y", make_tensor(y, {rows, 1})}};
}

std::vector<float> floats(const Value& value) {
  const auto& x = static_cast<const RawTensor&>(value);
  x.ready("test");
  return {x.as<float>(), x.as<float>() + x.size()};
}

ProgramFile read(const std::string& bytes) {
  ProgramFile file;
  read_program(bytes, file);
  return file;
}

void test_a_program_that_trains_comes_back() {
  ProgramFile file = training();
  const std::string bytes = write_program(file);
  ProgramFile again = read(bytes);
  expect(again.program->text() == file.program->text(), again.program->text());
  expect(write_program(again) == bytes, "the same bytes are written again");
  const Ref<Scope> one(&file.scope()), other(&again.scope());
  for (int64_t rows : {4, 1, 4, 7}) {
    const Values a = execute(*file.program, batch_of(rows), file.numbers(), *one);
    const Values b = execute(*again.program, batch_of(rows), again.numbers(), *other);
    for (size_t i = 0; i < a.size(); ++i) expect(floats(*a[i]) == floats(*b[i]), "the same bits");
    expect(floats(*one->find("weight")) == floats(*other->find("weight")), "the same state");
  }
  expect(floats(*one->find("weight")) != std::vector<float>({1, 2, 3}), "it has changed");
  expect_error(error_of([&] { execute(*again.program, batch_of(0), again.numbers(), *other); }),
               "run: sizes must be so that batch < 1 is false, as it was when the program was "
               "recorded; got 0 and 1; record a program for such sizes; applied at train.cpp:2.",
               "what was asked of sizes is kept");
}

void test_a_file_is_saved_and_loaded() {
  const std::string path = "test_program_file.tlp";
  save_program(training(), path);
  const ProgramFile file = Program::load(path);
  expect(file.results.size() == 2 && file.results[0].first == "loss", "results by their names");
  std::remove(path.c_str());
  expect_error(error_of([&] { Program::load(path); }),
               "load: the file must be readable; got " + path + ".", "no file");
}

void test_no_file_but_a_whole_one_is_read() {
  const std::string bytes = write_program(training());
  for (size_t size = 0; size < bytes.size(); size += 7) {
    expect(error_of([&] { read(bytes.substr(0, size)); }) != "nothing was thrown", "cut");
  }
  for (size_t at = 0; at < bytes.size(); at += 3) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
    expect(error_of([&] { read(changed); }) != "nothing was thrown", text("a bit at ", at));
  }
}

// Structures with something cut, repeated or exchanged, and checksums made right again.
std::string mutant(const std::string& structure, std::mt19937& chance) {
  static const char* kWords[] = {"-1",
                                 "0",
                                 "99",
                                 "1e99",
                                 "9223372036854775807",
                                 "null",
                                 "true",
                                 "[]",
                                 "{}",
                                 "\"x\"",
                                 "[[[]]]",
                                 "1.5",
                                 "18446744073709551615",
                                 "\"matmul\"",
                                 "2147483648",
                                 "\"size\""};
  std::string made = structure;
  const auto at = [&] { return static_cast<size_t>(chance()) % made.size(); };
  for (unsigned i = 0; i <= chance() % 3; ++i) {
    const size_t place = at();
    switch (chance() % 5) {
      case 0:
        made[place] = static_cast<char>(chance());
        break;
      case 1:
        made.erase(place, chance() % 20);
        break;
      case 2:
        made.insert(place, made.substr(at(), chance() % 40));
        break;
      case 3: {  // a number or a word
        const size_t begin = made.find_first_of(":,[", place);
        if (begin == std::string::npos) break;
        const size_t end = std::min(made.find_first_of(",]}", begin + 1), made.size());
        made.replace(begin + 1, end - begin - 1, kWords[chance() % std::size(kWords)]);
        break;
      }
      default:
        made[place] = "0123456789,:[]{}\""[chance() % 17];
    }
    if (made.empty()) made = "{}";
  }
  return made;
}

void renamed(std::string& structure, int number) {
  for (const std::string name : {"filed_", "Filed"}) {
    const std::string other = name + std::to_string(number) + "_";
    for (size_t at = 0; (at = structure.find(name, at)) != std::string::npos; at += other.size()) {
      structure.replace(at, name.size(), other);
    }
  }
}

void run_once(ProgramFile& file) {
  try {
    for (int variable : file.program->inputs()) {
      const Spec& spec = file.program->variables()[static_cast<size_t>(variable)].spec;
      if (spec.shape.size() != 2) return;
    }
    file.run(batch_of(3));
  } catch (const Error&) {
  }
}

void test_mutants_end_in_an_error_or_in_a_program() {
  const char* wanted = std::getenv("TENSORLIKE_MUTANTS");
  const int count = wanted == nullptr ? 3000 : std::atoi(wanted);
  const std::string bytes = write_program(training());
  const Sections whole = read_sections(bytes);
  std::mt19937 chance(7);
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    std::string structure(whole.structure);
    renamed(structure, i);
    structure = mutant(structure, chance);
    ProgramFile file;
    try {
      read_program(write_sections({structure, whole.tensors}), file);
    } catch (const Error& error) {
      const std::string said = error.what();
      expect(said.starts_with("load: the bytes must be a program that can be read here; got "),
             said);
      ++refused;
      continue;
    }
    run_once(file);
  }
  std::printf("%d of %d mutants were refused\n", refused, count);
  expect(refused > count / 2, "most are refused");
}

}  // namespace
}  // namespace tensorlike::tape

int main() {
  using namespace tensorlike::tape;
  declare_ops();
  test_a_program_that_trains_comes_back();
  test_a_file_is_saved_and_loaded();
  test_no_file_but_a_whole_one_is_read();
  test_mutants_end_in_an_error_or_in_a_program();
  return report();
}
