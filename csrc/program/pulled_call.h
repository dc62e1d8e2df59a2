// A call of a program whose gradient is a part of a program too: beside its results it gives what
// that part reads. Where all is plain, a backward pass runs the part and asks nobody.
#pragma once

#include <vector>

#include "dispatch/known_meaning.h"
#include "program/stretch.h"
#include "tape/gradient.h"

namespace tensorlike {

struct PulledCall {
  // What is given, what is kept, and cotangents of results that can move -> gradients.
  Ref<const Op> op;
  Ref<Stretch> stretch;
  size_t results = 0;        // of the call; what is kept comes behind them
  std::vector<bool> wanted;  // inputs that there are gradients for
  KnownMeaning meaning = {};

  // Fills in the gradients. False: not all is plain, and nothing has been done.
  bool pull(GradCall& call) const;
};

}  // namespace tensorlike
