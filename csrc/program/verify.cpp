// That a program is one, as every pass must leave it.
#include <map>

#include "op/tile_program.h"
#include "program/holder.h"
#include "program/passes.h"

namespace tensorlike {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program)
      : program_(program), is_made_(program.variables().size(), false) {}

  void check(std::span<const int> results) {
    for (size_t i = 0; i < is_made_.size(); ++i) {
      is_made_[i] = program_.variables()[i].role != Program::Role::kResult;
    }
    for (int number : program_.inputs()) check_role(number, Program::Role::kInput);
    for (int number : program_.states()) check_role(number, Program::Role::kState);
    for (const Program::Step& step : program_.steps()) check(step);
    for (int result : results) check_is_made(result, "a result");
    for (const auto& [state, value] : program_.assigned()) {
      check_role(state, Program::Role::kState);
      check_is_made(value, "what a state becomes");
      const auto& kept = variable(state);
      if (kept.spec.dtype != variable(value).spec.dtype ||
          !(kept.spec.shape == variable(value).spec.shape)) {
        refuse(kept.name, "must stay " + program_.describe(state), program_.describe(value));
      }
    }
    for (const auto& [name, part] : program_.parts()) verify(*part, {});
    for (const Program::Step& step : program_.steps()) {
      const Holder* holder = holder_of(*step.op);
      if (holder == nullptr) continue;
      for (const Ref<Stretch>& call : holder->calls) verify(*call->program, call->results);
    }
  }

 private:
  [[noreturn]] static void refuse(const std::string& what, const std::string& must,
                                  const std::string& got) {
    fail(ErrorKind::kArgument, said::op("verify"), said::argument(what), must, said::got(got));
  }

  const Program::Variable& variable(int number) const {
    return program_.variables()[static_cast<size_t>(number)];
  }

  void check_number(int number, const char* what) const {
    if (number >= 0 && static_cast<size_t>(number) < is_made_.size()) return;
    refuse(what, "must be a variable of the program", "number " + std::to_string(number));
  }

  void check_role(int number, Program::Role role) const {
    check_number(number, "an input or a state");
    if (variable(number).role != role)
      refuse(variable(number).name, "must have its role", "another");
  }

  void check_is_made(int number, const char* what) const {
    check_number(number, what);
    if (!is_made_[static_cast<size_t>(number)]) {
      refuse(variable(number).name, "must be made before it is read", what);
    }
  }

  void check_expr(const AttrExpr& expr) const {
    if (expr.kind == AttrExpr::Kind::kDim) check_is_made(expr.slot, "a size");
    for (const AttrExpr& part : expr.parts) check_expr(part);
  }

  void check(const Program::Step& step) {
    const std::string name = step.op->name();
    for (int input : step.inputs) check_is_made(input, name.c_str());
    for (const auto& [index, expr] : step.exprs) check_expr(expr);
    const Specs found = program_.made_by(step).specs;
    if (found.size() != step.outputs.size()) {
      refuse(name, "must have as many results as it gives", std::to_string(step.outputs.size()));
    }
    for (size_t i = 0; i < found.size(); ++i) {
      const int output = step.outputs[i];
      check_number(output, "a result of a step");
      if (is_made_[static_cast<size_t>(output)]) {
        refuse(variable(output).name, "must be made once", name);
      }
      if (found[i].dtype != variable(output).spec.dtype ||
          !(found[i].shape == variable(output).spec.shape)) {
        refuse(variable(output).name, "must be what the op gives: " + to_string(found[i]),
               to_string(variable(output).spec));
      }
      is_made_[static_cast<size_t>(output)] = true;
    }
    if (step.chain >= 0) check_chain(step);
    if (step.band >= 0) check_band(step);
  }

  // All that run as one tile program are of one shape, which a reduction may end.
  void check_chain(const Program::Step& step) {
    const bool is_reduction = step.op->reduction != nullptr;
    const int inner = is_reduction ? step.inputs.at(0) : step.outputs.at(0);
    const Program::Variable& made = variable(inner);
    const auto [known, is_new] = chains_.try_emplace(step.chain, inner);
    const Program::Variable& first = variable(known->second);
    if ((!is_elementwise(*step.op) && !is_reduction) || made.spec.shape != first.spec.shape ||
        made.other.shape != first.other.shape) {
      refuse(made.name, "must be elementwise, and of the shape of its chain", step.op->name());
    }
  }

  // All that run together have as many rows.
  void check_band(const Program::Step& step) {
    const bool is_reduction = step.op->reduction != nullptr;
    const int inner = is_reduction ? step.inputs.at(0) : step.outputs.at(0);
    const Program::Variable& made = variable(inner);
    const auto [known, is_new] = bands_.try_emplace(step.band, inner);
    const Program::Variable& first = variable(known->second);
    if ((!is_elementwise(*step.op) && !is_reduction) || made.spec.shape.empty() ||
        made.spec.shape[0] != first.spec.shape[0] || made.other.shape[0] != first.other.shape[0]) {
      refuse(made.name, "must be elementwise or reduced, of as many rows as its band",
             step.op->name());
    }
  }

  const Program& program_;
  std::vector<bool> is_made_;
  std::map<int, int> chains_, bands_;  // a variable of each
};

}  // namespace

void verify(const Program& program, std::span<const int> results) {
  Verifier(program).check(results);
}

}  // namespace tensorlike
