// Ops that hold programs, a call of one, branches and loops: what they mean on values and on
// shapes.
//
// Whoever embeds the core may have a class of its own for each, with gradients and transforms; what
// they compute is said here alone, so that a saved program runs the same without its author.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "op/op.h"
#include "program/pulled_call.h"
#include "program/stretch.h"

namespace tensorlike {

class Holder : public RefCounted {
 public:
  enum class Kind : uint8_t {
    kCall,       // a program: xs -> results
    kCond,       // predicate, xs -> what the first or the second program gives
    kWhileLoop,  // carries, constants -> carries, by the second program while the first says so
    kScanLoop,   // carries, rows, constants -> carries, rows of results
    kRowBranch,  // mask, rows, xs -> merged rows, sums
  };
  struct Form {
    std::string_view name;  // of the class
    std::string_view who;   // in errors
    size_t calls;
    std::vector<std::string_view> params;
  };
  static const Form& form_of(Kind kind);
  // ErrorKind::kArgument for a name that there is not.
  static Kind kind_of_name(std::string_view name);

  // `params` in the order of the form's. ErrorKind::kArgument where numbers do not go together.
  Holder(Kind kind, std::vector<Ref<Stretch>> calls, std::vector<Attr> params);

  const Form& form() const { return form_of(kind); }
  size_t inputs() const;
  Specs infer(std::span<const Spec> given) const;
  // The results for values of any kind. `ops`: what is applied in the place of the programs, where
  // whoever embeds the core has ops around them that mean more to some tensor-likes.
  Values run(Args given, std::span<const Ref<Op>> ops = {}) const;
  // `infer` where all are shapes without elements, else `run`.
  Values apply(Args given) const;
  // Whether a run draws random numbers anew, here or in a program further in.
  bool draws() const;
  // "Cond(Call(add, exp), Call(negative))".
  std::string text() const;

  const Kind kind;
  const std::vector<Ref<Stretch>> calls;
  const std::vector<Attr> params;
  // Of a call that gives what its gradient reads; null: it has none of its own.
  std::unique_ptr<const PulledCall> pulled = {};

 private:
  class Runner;

  int64_t number(size_t param) const { return std::get<int64_t>(params[param]); }
  size_t count_of(size_t param) const { return static_cast<size_t>(number(param)); }
  size_t carries() const {
    return kind == Kind::kScanLoop ? count_of(0) : calls[1]->results.size();
  }
  void check() const;
  void refuse_unlike(const char* must, const std::string& what, const Spec& x, const Spec& y) const;
  Specs infer_cond(std::span<const Spec> given) const;
  Specs infer_while(std::span<const Spec> given) const;
  Specs infer_scan(std::span<const Spec> given) const;
  Specs infer_rows(std::span<const Spec> given) const;
};

// An op of the core around such programs.
class HoldingOp final : public Op {
 public:
  explicit HoldingOp(Ref<Holder> holder);
  std::string name() const override { return std::string(holder->form().who); }
  bool run_define(Args args, Values& out) const override {
    out = holder->apply(args);
    return true;
  }
  bool has_body() const override { return true; }

  const Ref<Holder> holder;
};

// For whoever embeds the core: an op of its own around programs, what such an op holds (null:
// nothing), and the elements under a value of a kind that the core does not know.
inline Ref<const Op> (*embedded_op_around)(const Ref<Holder>& holder) = nullptr;
inline const Holder* (*embedded_holder_of)(const Op& op) = nullptr;
inline Ref<Value> (*embedded_elements_of)(Value& value) = nullptr;

Ref<const Op> op_around(const Ref<Holder>& holder);
// Null: it holds no programs.
const Holder* holder_of(const Op& op);

}  // namespace tensorlike
