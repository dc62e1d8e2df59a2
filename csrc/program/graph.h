// A program while passes rewrite it: the same variables, with the steps in a list of their own. New
// steps are inferred as those of a program are. What nobody reads any more goes at the end, and the
// variables that are left are numbered again.
#pragma once

#include <functional>
#include <utility>

#include "program/program.h"
#include "program/stretch.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {

class Graph {
 public:
  // The program is left as it is; `results` are the variables whose values matter, beside what
  // states become.
  Graph(const Program& source, std::span<const int> results);
  // What lies between variables of a program, as a program of its own: what is given becomes its
  // inputs. `can_take` says whether it can be one.
  explicit Graph(const Stretch& stretch);
  static bool can_take(const Stretch& stretch);

  const std::vector<Program::Variable>& variables() const { return work_->variables_; }
  const Program::Variable& variable(int number) const {
    return work_->variables_[static_cast<size_t>(number)];
  }
  std::vector<Program::Step>& steps() { return steps_; }
  const std::vector<Program::Step>& steps() const { return steps_; }
  const std::vector<int>& results() const { return results_; }
  bool has_unknown_sizes() const { return work_->has_unknown_sizes(); }
  // As Program::witness_of has it.
  std::optional<Witness> witness_of(int64_t number) const { return work_->witness_of(number); }

  // How many readers each variable has: steps, results and states.
  std::vector<int> readers() const;
  // The step that makes each variable; -1: none.
  std::vector<int> makers() const;
  // Which steps the results and the states, and some more variables, depend on, or must run for
  // what they do beside.
  std::vector<bool> live_steps(std::span<const int> more = {}) const;
  // What the other steps make.
  std::vector<int> dead_results() const;
  // Whether values of the one may stand for values of the other: dtype, shape, device.
  bool is_same_kind(int a, int b) const;

  // Whoever reads `from` reads `to` instead, steps before `to` is made excepted: there are none.
  void replace(int from, int to);
  // Lets literals stand beside what is given from outside, so that they wait for nobody.
  void free_literals();
  // A new step before the one at this place; the numbers of its results. Errors are the op's.
  std::vector<int> insert(size_t place, const Op& op, std::span<const int> inputs,
                          std::string line);
  // A captured value.
  int capture(Ref<Value> value, const std::string& note);
  // Takes steps away whose results nobody reads.
  void remove(size_t place, size_t count);
  void rename(int number, const std::string& name) { work_->rename(number, name); }
  // Lets results of a run share memory; false: they do already.
  bool share_memory() { return !std::exchange(work_->shares_memory, true); }
  // Keeps the steps for which this is true.
  void keep(const std::vector<bool>& is_kept);
  // The captured value that nobody reads any more, and its elements, are let go.
  void finish(Program& empty);
  // After `finish`: the results in the new program.
  std::vector<int> finished_results() const;
  // The same of any variables that are there.
  std::vector<int> finished(const std::vector<int>& numbers) const { return renumbered(numbers); }

 private:
  // What evaluates sizes when the program is bound: it has to be there for as long as it is read.
  void need(const AttrExpr& expr, std::vector<bool>& is_needed) const;
  void need_sizes_of(int variable, std::vector<bool>& is_needed) const;
  void number_again(Program& out) const;
  void copy_variables(Program& out);
  AttrExpr renumbered(AttrExpr expr) const;
  bool is_known(const AttrExpr& expr) const;
  std::vector<int> renumbered(const std::vector<int>& numbers) const;

  Ref<Program> work_ = make_ref<Program>();
  std::vector<Program::Step> steps_;
  std::vector<int> results_;
  std::vector<int> numbers_;  // in the new program; -1: gone
};

// Whether running the op again, or never, makes no difference to anything but time: it is the
// core's to compute, and draws nothing.
bool is_pure(const Op& op);
// Whether it must run though nobody reads what it makes: an op that the core does not know, here or
// in a program that the op holds.
bool acts(const Op& op);

// The op as a literal or an array that it carries; null: it is another op.
const ConstOp* as_constant(const Op& op);

// The same op to the last bit of its numbers, as 0.0 and -0.0 are not.
bool is_same_op(const Op& a, const Op& b);

}  // namespace tensorlike
