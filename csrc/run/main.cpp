// tl-run: runs a saved program, or an ONNX model, on arrays, without Python.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <set>

#include "base/pool.h"
#include "onnx/build.h"
#include "program/draws.h"
#include "program/file.h"
#include "program/functions.h"
#include "program/passes.h"
#include "run/npy.h"

namespace tensorlike::run {
namespace {

constexpr const char* kUsage =
    "tl-run PROGRAM.tlp [OPTION...]\n"
    "tl-run MODEL.onnx [OPTION...]\n"
    "\n"
    "  --input NAME=FILE.npy    feeds an input\n"
    "  --output NAME=FILE.npy   writes a result; those without a file are printed\n"
    "  --output FILE.npy        writes the result, where there is one\n"
    "  --weights OTHER.tlp      values of states from another file\n"
    "  --steps N                runs N times on the same inputs, as training does\n"
    "  --save FILE.tlp          saves the program with its states as they are then\n"
    "  --bench N                times N runs after one that is not timed\n"
    "  --threads N              computes on so many threads\n"
    "  --seed N                 draws the random numbers of this seed; without, those of 0\n"
    "  --compile                runs passes over the program first\n"
    "  --print                  prints the program, too\n";

struct Options {
  std::string program, save;
  std::vector<std::string> weights;
  std::vector<std::pair<std::string, std::string>> inputs, outputs;  // names and files
  int steps = 1, bench = 0, threads = 0;
  uint64_t seed = 0;
  bool prints = false, compiles = false;
};

[[noreturn]] void refuse(const std::string& must, const std::string& got) {
  fail(ErrorKind::kArgument, said::op("tl-run"), must, said::got(got),
       said::fix("tl-run --help lists the options"));
}

std::pair<std::string, std::string> named(const std::string& option, const std::string& text) {
  const size_t at = text.find('=');
  if (at == std::string::npos || at == 0) refuse(option + " must be NAME=FILE", text);
  return {text.substr(0, at), text.substr(at + 1)};
}

int count(const std::string& option, const std::string& text) {
  const bool is_number =
      !text.empty() && text.size() < 9 && text.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || std::stoi(text) == 0) refuse(option + " must be a number from 1", text);
  return std::stoi(text);
}

uint64_t seed(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    refuse("--seed must be a number from 0", text);
  }
  return value;
}

constexpr std::array<std::string_view, 8> kWithValue{
    "--input", "--output", "--weights", "--save", "--steps", "--bench", "--seed", "--threads"};

Options read_options(const std::vector<std::string>& arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--print") {
      options.prints = true;
      continue;
    }
    if (word == "--compile") {
      options.compiles = true;
      continue;
    }
    if (!word.starts_with("--")) {
      if (!options.program.empty()) refuse("there must be one program", word);
      options.program = word;
      continue;
    }
    if (std::find(kWithValue.begin(), kWithValue.end(), word) == kWithValue.end()) {
      refuse("there must be such an option", word);
    }
    if (i + 1 == arguments.size()) refuse("an option must have a value", word);
    const std::string& value = arguments[++i];
    if (word == "--input") {
      options.inputs.push_back(named(word, value));
    } else if (word == "--output") {
      const bool is_named = value.find('=') != std::string::npos;
      options.outputs.push_back(is_named ? named(word, value) : std::pair(std::string(), value));
    } else if (word == "--weights") {
      options.weights.push_back(value);
    } else if (word == "--save") {
      options.save = value;
    } else if (word == "--steps") {
      options.steps = count(word, value);
    } else if (word == "--bench") {
      options.bench = count(word, value);
    } else if (word == "--seed") {
      options.seed = seed(value);
    } else {
      options.threads = count(word, value);
    }
  }
  if (options.program.empty()) refuse("there must be a program", "none");
  return options;
}

const RawTensor& elements(const Values& values, size_t at) {
  const auto& x = static_cast<const RawTensor&>(*values[at]);
  return x.ready("tl-run");
}

bool is_of(const std::pair<std::string, std::string>& output, const ProgramFile& file, size_t i) {
  return output.first.empty() ? file.results.size() == 1 : output.first == file.results[i].first;
}

// Before anything runs, which may take long.
void check_outputs(const Options& options, const ProgramFile& file) {
  std::string known;
  for (const auto& [each, number] : file.results) known += (known.empty() ? "" : ", ") + each;
  for (const auto& output : options.outputs) {
    bool is_there = false;
    for (size_t i = 0; i < file.results.size(); ++i) is_there = is_there || is_of(output, file, i);
    const std::string& got = output.first.empty() ? output.second : output.first;
    if (!is_there) refuse("--output must name one of the results: " + known, got);
  }
}

void give(const Options& options, const ProgramFile& file, const Values& found) {
  for (size_t i = 0; i < found.size(); ++i) {
    bool is_written = false;
    for (const auto& output : options.outputs) {
      if (!is_of(output, file, i)) continue;
      write_npy(output.second, elements(found, i));
      is_written = true;
    }
    if (is_written) continue;
    const RawTensor& x = elements(found, i);
    std::cout << file.results[i].first << ": " << to_string(x.spec()) << "\n";
    tape::operator<<(std::cout, x) << "\n";
  }
}

void save(const Options& options, ProgramFile& file) {
  for (const auto& [name, value] : file.scope().values()) {
    file.weights[name] = Ref<RawTensor>(static_cast<RawTensor*>(value.get()));
  }
  save_program(file, options.save);
}

void bench(const Options& options, const std::function<Values()>& run) {
  std::vector<double> times;
  for (int i = 0; i < options.bench; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const Values found = run();
    for (size_t k = 0; k < found.size(); ++k) elements(found, k);
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  std::sort(times.begin(), times.end());
  std::cout << "bench: " << times.size() << " runs, fastest " << times.front() << " us, median "
            << times[times.size() / 2] << " us\n";
}

void compile(ProgramFile& file) {
  Optimized made = optimize(*file.program, file.numbers());
  file.program = std::move(made.program);
  for (size_t i = 0; i < made.results.size(); ++i) file.results[i].second = made.results[i];
}

// A model is made a program for what it is fed: for the shapes, and for elements on which shapes
// hang; those are fed no more.
ProgramFile load(const Options& options, Feeds& feeds) {
  if (!options.program.ends_with(".onnx")) return Program::load(options.program);
  onnx::Fed fed;
  for (const auto& [name, value] : feeds) {
    fed[name] = Ref<RawTensor>(static_cast<RawTensor*>(value.get()));
  }
  onnx::Built built = onnx::build_program(onnx::read_model_file(options.program), fed);
  std::erase_if(feeds, [&](const auto& feed) { return built.fixed.count(feed.first) > 0; });
  for (const std::string& name : built.fixed) {
    if (!options.save.empty()) {
      std::cout << "saved for the elements of " << name << ", on which shapes hang\n";
    }
  }
  return std::move(built.file);
}

// A file may hold more than the program's states, as that of its training does; one that holds none
// of them is another program's.
void take_weights(const Options& options, ProgramFile& file) {
  const Program& program = *file.program;
  std::set<std::string> states;
  for (int at : program.states()) {
    states.insert(program.variables()[static_cast<size_t>(at)].name);
  }
  for (const std::string& path : options.weights) {
    bool is_any = false;
    for (const auto& [name, tensor] : Program::load(path).weights) {
      is_any = is_any || states.contains(name);
      file.scope().set(name, tensor);
    }
    if (is_any) continue;
    std::string listed;
    for (const std::string& name : states) listed += (listed.empty() ? "" : ", ") + name;
    refuse("--weights must hold values of the program's states: " +
               (listed.empty() ? "it has none" : listed),
           path);
  }
}

void run(const Options& options) {
  if (options.threads > 0) set_num_threads(options.threads);
  seed_draws(options.seed);
  Feeds feeds;
  for (const auto& [name, path] : options.inputs) feeds.emplace_back(name, read_npy(path));
  ProgramFile file = load(options, feeds);
  check_outputs(options, file);
  take_weights(options, file);
  if (options.compiles) compile(file);
  if (options.prints) std::cout << file.program->text() << "\n";
  const std::vector<int> results = file.numbers();
  const auto once = [&] { return execute(*file.program, feeds, results, file.scope()); };
  Values found = once();
  for (int i = 1; i < options.steps; ++i) found = once();
  give(options, file, found);
  if (!options.save.empty()) save(options, file);
  if (options.bench > 0) bench(options, once);
}

int main_of(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] == "--help") {
    std::fputs(kUsage, arguments.empty() ? stderr : stdout);
    return arguments.empty() ? 2 : 0;
  }
  try {
    run(read_options(arguments));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace tensorlike::run

int main(int count, char** words) { return tensorlike::run::main_of({words + 1, words + count}); }
