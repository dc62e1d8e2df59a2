// What variables mean, as terms: equal meanings, written in different ways, have one number. Ops
// that have bodies are what their bodies are; sums and products are lists without an order,
// squares, roots and quotients products; factors of linear ops stand in front, reshapes outside.
// Two terms of one number are equal as real numbers; rounding, and what overflows on the way, may
// differ.
//
// Terms are tensor-likes: a body is applied to them as it is to anything else.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tensor/value.h"

namespace tensorlike {

// What a body may be on a part of its domain: of a `where` one of the two values, of a maximum one
// of its arguments, of an absolute value the number or its negative, of a largest element 0. Where
// the last one is kMask, where(condition, x, 0) is x times the condition.
enum class Choice : uint8_t { kKeep, kFirst, kSecond, kMask };
using Choices = std::vector<Choice>;

struct Term {
  enum class Kind : uint8_t { kLeaf, kNumber, kCall, kSum, kProduct };
  struct Part {
    int term;
    double scale;  // of a sum: the factor; of a product: the exponent; else 1
  };
  Kind kind = Kind::kLeaf;
  Ref<const Op> op = {};  // of a call
  int output = 0;         // which result
  std::vector<Part> parts = {};
  double number = 0;  // its own; what a sum starts from, the factor of a product
  int leaf = -1;      // a variable, or a hole of a pattern
  Spec spec = {};
};

inline bool is_floating(const Spec& spec) { return kind_of(spec.dtype) == Kind::kFloating; }

class Terms {
 public:
  // Whether ops are taken as they are, in their order and to the last bit: nothing is known of what
  // they mean but which commute.
  explicit Terms(bool is_literal) : is_literal_(is_literal) {}
  Terms(const Terms&) = delete;
  Terms& operator=(const Terms&) = delete;

  const Term& operator[](int id) const { return terms_[static_cast<size_t>(id)]; }
  size_t size() const { return terms_.size(); }
  bool is_literal() const { return is_literal_; }

  int leaf(int number, const Spec& spec);
  int number(double value, const Spec& spec);
  int sum(std::vector<Term::Part> parts, double constant, const Spec& spec);
  int product(std::vector<Term::Part> parts, double factor, const Spec& spec);
  // A value from outside, as a number where all of its elements are one.
  int constant(Value& value, int number);
  // The terms of what an op gives.
  std::vector<int> apply(const Op& op, std::span<const int> args);
  // The same of an op, or of a rule, through its body, with these choices; `met` is how many there
  // were to make. Ops within the body are as plain as can be, unless they are to be kept, too.
  std::vector<int> through_body(const Op& op, std::span<const int> args, const Choices& choices,
                                bool keeps_inner = false, size_t* met = nullptr);
  // What another one is with its axes in another order; the axes of a term that is (null: it is
  // none), and the op that does it.
  int transposed(int arg, std::vector<int64_t> axes);
  static const std::vector<int64_t>* transpose_of(const Term& term);
  static Ref<Op> transpose_by(std::vector<int64_t> axes);
  // The same elements in another shape; what they are before a reshape (-1: there is none).
  int reshaped(int arg, const Spec& spec);
  int before_reshape(int id);
  // As a person reads it.
  std::string text(int id) const;
  // How many terms one is made of; `is_tree`: as it would be written, each as often as it is read.
  size_t weight(int id, bool is_tree = false) const;

  // The value that stands for a term.
  Ref<Value> value(int id);

 private:
  struct Frame {
    const Choices* choices;
    size_t met = 0;
  };

  std::vector<int> through(const CompiledBody* body, const Op& op, std::span<const int> args,
                           Frame frame, bool keeps_inner, size_t* met);
  std::optional<std::vector<int>> meaning(const Op& op, std::span<const int> args,
                                          const Specs& specs);
  int intern(Term term);
  int call(const Op& op, std::vector<int> args, int output, const Spec& spec);
  int call_scalar(const Op& op, std::vector<int> args, int output, const Spec& spec);
  std::optional<int> folded(const Op& op, std::span<const int> args, const Spec& spec);
  std::optional<int> arithmetic(const Scalar& scalar, std::span<const int> args, const Spec& spec);
  std::optional<int> power(int base, double exponent, const Spec& spec);
  std::optional<int> choose(const Op& op, std::span<const int> args, const Spec& spec);
  std::optional<int> outside_of_reshape(const Op& op, std::vector<int>& args, int output,
                                        const Spec& spec);
  std::optional<int> moved(const Op& op, int arg, const Spec& spec);
  int reduced(const Op& op, int arg, const Spec& spec);
  std::optional<int> masked(std::span<const int> args, const Spec& spec);
  bool contains(int id, int wanted) const;
  std::optional<double> multiple_of(int wanted, std::span<const Term::Part> parts,
                                    double number) const;
  std::optional<int> gated(const std::vector<Term::Part>& parts, double number, const Spec& spec);
  void take_scales(std::vector<Term::Part>& parts, double& factor);
  int scaled(int term, double factor, const Spec& spec);
  double take_factors(const Op& op, std::vector<int>& args);
  int bare(int id);
  bool is_float(std::span<const int> args, const Spec& spec) const;
  void flatten(Term::Kind kind, std::vector<Term::Part>& parts, double& number,
               const Spec& spec) const;

  const bool is_literal_;
  std::deque<Term> terms_;  // whose places stay
  std::unordered_map<std::string, int> known_;
  std::unordered_map<std::string, std::vector<int>> bodies_;  // of calls
  std::vector<Frame> frames_;
  size_t most_ = 0;  // how many terms there may be while a body is written out
  bool keeps_inner_ = false;
};

// By which choices an op may be taken for its body: where that has the same values and the op's own
// gradients, which an op may declare as it likes.
struct BodyChoices {
  bool as_written = false;           // none at all are made
  std::vector<Choices> others = {};  // those that make a difference, the plainest first
};
const BodyChoices& body_choices(const Op& op);

// A term among the values of a body.
const Type& term_type();
int term_of(const Value& value);

}  // namespace tensorlike
