// The tape as a C++ user's API: include this. Functions add ops to the global tape when they are
// called on variables, and keep the variables that they learn; a new one takes about ten lines:
//
//   struct Softmax {
//     VariableHandle operator()(const VariableHandle& x) const {
//       return get_global_tape().AddOp("softmax", {x}, {{"axis", -1}});
//     }
//   };
#pragma once

#include <functional>
#include <unordered_map>

#include "program/deferred.h"

namespace tensorlike::tape {

// So that `using namespace tensorlike::tape` alone is enough. Beside it, `using namespace
// tensorlike` would make `Tape` ambiguous: the core has one of its own.
using tensorlike::Attr;
using tensorlike::Dims;
using tensorlike::DType;
using tensorlike::Error;
using tensorlike::RawTensor;
using tensorlike::Ref;
using tensorlike::Spec;

// A variable of this shape, computed on a tape of its own.
using Initializer = std::function<VariableHandle(Tape&, const std::vector<int64_t>& shape)>;
Initializer constant(double value);
// Between -bound and bound. The numbers follow from the seed and from how many were drawn before.
Initializer uniform(double bound);
void set_seed(int64_t seed);

// A tensor of numbers, in C order.
template <class T>
Ref<RawTensor> make_tensor(const std::vector<T>& values, Dims shape) {
  if (element_count(shape) != static_cast<int64_t>(values.size())) {
    fail(ErrorKind::kShape, said::op("make_tensor"),
         "the shape must hold as many elements as are given",
         said::got(to_string(shape), " for ", values.size()));
  }
  Ref<RawTensor> made = RawTensor::empty(dtype_of<T>, std::move(shape));
  std::copy(values.begin(), values.end(), made->as<T>());
  return made;
}

// act(x w + b); `act` is the name of any function of one argument, "" for none. Left out, the
// initial weights are uniform within +-sqrt(6 / in), and b is 0. The parameters of the nth layer
// that a program makes are called "weightn" and "biasn".
class Linear {
 public:
  Linear(int64_t in, int64_t out, std::string act = "", Initializer weight = nullptr,
         Initializer bias = nullptr);
  VariableHandle operator()(const VariableHandle& input) const;
  std::vector<VariableHandle> Params() const { return {weight_, bias_}; }

 private:
  VariableHandle weight_;
  VariableHandle bias_;
  std::string act_;
};

// The mean of all elements.
struct Mean {
  VariableHandle operator()(const VariableHandle& x) const;
};

struct Softmax {
  int64_t axis = -1;
  VariableHandle operator()(const VariableHandle& x) const;
};

// The mean over rows of minus the logarithm of the softmax at the row's label.
VariableHandle softmax(const VariableHandle& logits, const VariableHandle& label);

// Feeds variables: with the next rows of a data set, over and over, or with the result of an op
// that has no inputs, such as `full`. What it is the first to fill gets no gradient by Backward.
class Fill {
 public:
  // The columns of the data set have the same number of rows; 0: all of them at once. Rows that are
  // left over at the end, fewer than a batch, wait for another order of the data.
  explicit Fill(std::vector<Ref<RawTensor>> columns, int64_t batch = 0);
  Fill(std::string type, Attributes attributes);

  template <class... Variables>
  void operator()(const Variables&... variables) {
    feed({variables...});
  }

 private:
  void feed(const std::vector<VariableHandle>& variables);

  std::vector<Ref<RawTensor>> columns_;
  int64_t batch_ = 0;
  int64_t next_ = 0;
  std::string type_;
  Attributes attributes_;
};

// p -= lr * gradient, for each parameter that has one.
class SGD {
 public:
  explicit SGD(double lr) : lr_(lr) {}
  void operator()(const std::vector<VariableHandle>& parameters) const;

 private:
  double lr_;
};

// Kingma and Ba 2014, https://arxiv.org/abs/1412.6980.
class Adam {
 public:
  explicit Adam(double lr = 1e-3, double beta1 = 0.9, double beta2 = 0.999, double eps = 1e-8)
      : lr_(lr), beta1_(beta1), beta2_(beta2), eps_(eps) {}
  void operator()(const std::vector<VariableHandle>& parameters);

 private:
  struct Moments {
    VariableHandle parameter;
    Ref<RawTensor> mean, variance;
    int64_t step = 0;
  };
  double lr_, beta1_, beta2_, eps_;
  std::unordered_map<const Variable*, Moments> moments_;
};

}  // namespace tensorlike::tape
