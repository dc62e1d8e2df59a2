// Runs a program that Python saved: feeds its inputs with ones, and prints what it gives.
#include <iostream>

#include "program/file.h"
#include "program/functions.h"

using namespace tensorlike;

int main(int, char** words) {
  ProgramFile file = Program::load(words[1]);
  Feeds feeds;
  for (int input : file.program->inputs()) {
    const Program::Variable& x = file.program->variables()[input];
    const Ref<RawTensor> one = RawTensor::scalar(x.spec.dtype, 1.0);
    feeds.emplace_back(x.name, broadcast_to(*one, x.spec.shape));
  }
  for (const auto& [name, value] : file.run(feeds)) {
    tape::operator<<(std::cout << name << ": ", value) << "\n";
  }
}
