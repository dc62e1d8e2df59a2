// What runs of a program for some results, in which order, and what is let go on the way.
#pragma once

#include <vector>

#include "program/program.h"

namespace tensorlike {

struct Program::Schedule {
  struct Turn {
    size_t step;
    uint32_t donated;         // inputs that the run itself made, and nobody reads later
    std::vector<int> writes;  // the variable of each output; -1: nobody reads it
    std::vector<int> drops;   // variables that nobody reads afterwards
  };
  std::vector<int> given, results;
  std::vector<Turn> turns;
  std::vector<int> constants;  // captured values that are read
  bool draws = false;          // whether steps of it draw random numbers anew in each run
};

}  // namespace tensorlike
