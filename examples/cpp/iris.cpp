// A small network learns to tell three species of iris, with no Python in sight: the program of the
// C++ tape. Usage: iris DATA.csv [TAPE.dot]; the latter gets a picture of the last step's tapes.
#include <program/functions.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <numeric>
#include <random>
#include <sstream>

using namespace tensorlike::tape;

struct Rows {
  std::vector<float> features;
  std::vector<int64_t> species;
};

// The rows of the file in a random order, but always the same: the first `held` of them, the rest.
std::pair<Rows, Rows> read(const char* path, size_t held) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  if (lines.size() < 100) throw std::runtime_error(std::string("no data in ") + path);
  std::shuffle(lines.begin() + 1, lines.end(), std::mt19937(1));  // the first names the columns
  std::pair<Rows, Rows> out;
  for (size_t i = 1; i < lines.size(); ++i) {
    Rows& rows = i <= held ? out.first : out.second;
    std::istringstream cells(lines[i]);
    std::string cell;
    while (rows.features.size() < 4 * (rows.species.size() + 1) && std::getline(cells, cell, ',')) {
      rows.features.push_back(std::stof(cell));
    }
    std::getline(cells, cell, ',');
    rows.species.push_back(std::stoll(cell));
  }
  return out;
}

Fill feeder(const Rows& rows, int64_t batch) {
  const int64_t count = static_cast<int64_t>(rows.species.size());
  return Fill({make_tensor(rows.features, {count, 4}), make_tensor(rows.species, {count})}, batch);
}

int main(int argc, char** argv) try {
  if (argc < 2) throw std::runtime_error("usage: iris DATA.csv [TAPE.dot]");
  const auto [held, rest] = read(argv[1], 30);
  Fill train = feeder(rest, 20);
  Fill test = feeder(held, 30);
  Linear linear1(4, 16, "relu");
  Linear linear2(16, 3);
  Adam adam(0.01);
  VariableHandle input(new Variable("input"));
  VariableHandle label(new Variable("label"));
  for (int step = 0; step < 600; ++step) {
    reset_global_tape();
    train(input, label);
    auto loss = softmax(linear2(linear1(input)), label);  // infers shapes and dtypes; nothing runs
    if (step % 100 == 0) std::cout << "step " << step << ": loss " << loss->value() << "\n";
    get_global_tape().Backward(loss);  // the gradient of w is at w->Grad()
    adam(linear1.Params());
    adam(linear2.Params());
  }
  if (argc > 2) std::ofstream(argv[2]) << get_global_tape().to_dot();
  reset_global_tape();
  test(input, label);
  VariableHandle guess =
      get_global_tape().AddOp("argmax", {linear2(linear1(input))}, {{"axis", 1}});
  VariableHandle right = get_global_tape().AddOp("equal", {guess, label});
  VariableHandle total = get_global_tape().AddOp("sum", {right});
  std::cout << "accuracy on 30 flowers that it has not seen: " << total->item() / 30 << "\n";
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
