// Programs as text, a line for each input, captured value and op.
#include "op/registry.h"
#include "program/holder.h"
#include "program/program.h"

namespace tensorlike {

std::string Program::text_of(const AttrExpr& expr) const {
  switch (expr.kind) {
    case AttrExpr::Kind::kLiteral:
      return to_string(expr.literal);
    case AttrExpr::Kind::kDim: {
      for (const Root& root : roots_) {
        if (root.variable == expr.slot && root.dimension == expr.dim && !root.name.empty()) {
          return root.name;
        }
      }
      return variables_[static_cast<size_t>(expr.slot)].name + ".shape[" +
             std::to_string(expr.dim) + "]";
    }
    case AttrExpr::Kind::kArithmetic: {
      const bool is_sum = expr.attr == "add";
      const auto part = [&](const AttrExpr& one, bool is_behind) {
        const bool is_plain = one.kind != AttrExpr::Kind::kArithmetic || is_sum ||
                              (!is_behind && one.attr == expr.attr);
        return is_plain ? text_of(one) : "(" + text_of(one) + ")";
      };
      const std::string a = part(expr.parts[0], false);
      const std::string b = part(expr.parts[1], true);
      if (expr.attr == "floor_divide") return a + " // " + b;
      if (expr.attr == "remainder") return a + " % " + b;
      if (!is_sum) return a == "-1" ? "-" + b : a + " * " + b;
      const bool is_less = b.starts_with('-');
      return a + (is_less ? " - " + b.substr(1) : " + " + b);
    }
    case AttrExpr::Kind::kTuple: {
      std::string out = "(";
      for (size_t i = 0; i < expr.parts.size(); ++i) {
        out += (i > 0 ? ", " : "") + text_of(expr.parts[i]);
      }
      return out + (expr.parts.size() == 1 ? ",)" : ")");
    }
    default:
      return "?";
  }
}

std::string Program::describe(const Spec& spec, const Spec& other) const {
  std::string out = std::string(name_of(spec.dtype)) + "(";
  for (size_t i = 0; i < spec.shape.size(); ++i) {
    if (i > 0) out += ", ";
    if (spec.shape[i] == other.shape[i]) {
      out += std::to_string(spec.shape[i]);
      continue;
    }
    std::string name = "None";
    for (const Root& root : roots_) {
      if (root.witness.first == spec.shape[i] && !root.name.empty()) name = root.name;
    }
    out += name;
  }
  return out + (spec.shape.size() == 1 ? ",)" : ")");
}

std::string Program::describe(int variable) const {
  const Variable& found = variables_[static_cast<size_t>(variable)];
  return describe(found.spec, found.other);
}

std::string Program::describe(const Step& step) const {
  if (const Holder* holder = holder_of(*step.op)) return holder->text();
  if (step.exprs.empty()) return text_of_op ? text_of_op(*step.op) : to_string(*step.op);
  std::string out = step.op->cls.name() + "(";
  for (size_t i = 0; i < step.op->attrs.size(); ++i) {
    std::string value = to_string(step.op->attrs[i]);
    for (const auto& [index, expr] : step.exprs) {
      if (index == i) value = text_of(expr);
    }
    out += (i > 0 ? ", " : "") + step.op->cls.spec.attrs[i].name + "=" + value;
  }
  return out + ")";
}

std::string Program::line(const Step& step) const {
  std::string left, right, what;
  for (int output : step.outputs) {
    left += (left.empty() ? "" : ", ") + variables_[static_cast<size_t>(output)].name;
    what += (what.empty() ? "" : ", ") + describe(output);
  }
  for (int input : step.inputs) {
    right += (right.empty() ? "" : ", ") + variables_[static_cast<size_t>(input)].name;
  }
  if (step.chain >= 0) what += ", chain " + std::to_string(step.chain);
  if (step.band >= 0) what += ", band " + std::to_string(step.band);
  return left + " = " + describe(step) + "(" + right + ")  # " + what;
}

std::vector<std::string> Program::lines() const {
  std::vector<std::string> out;
  size_t step = 0;
  const auto steps_before = [&](size_t variable) {
    for (; step < steps_.size() && static_cast<size_t>(steps_[step].before) <= variable; ++step) {
      out.push_back(line(steps_[step]));
    }
  };
  for (size_t i = 0; i < variables_.size(); ++i) {
    steps_before(i);
    const Variable& variable = variables_[i];
    if (variable.role == Role::kResult) continue;
    std::string made = variable.name + ": " + describe(static_cast<int>(i));
    if (variable.role == Role::kCaptured) made += "  # captured " + variable.note;
    if (variable.role == Role::kState) made += "  # state";
    out.push_back(std::move(made));
  }
  steps_before(variables_.size());
  for (const Guard& guard : guards_) {
    if (guard.op.empty()) continue;
    const std::string where = guard.place.empty() ? guard.op : guard.op + ", " + guard.place;
    out.push_back("assumes " + text_of(guard.a) + " == " + text_of(guard.b) + "  # " + where);
  }
  for (const auto& [state, value] : assigned_) {
    out.push_back(variables_[static_cast<size_t>(state)].name + " <- " +
                  variables_[static_cast<size_t>(value)].name);
  }
  return out;
}

static std::string indented(const std::string& text) {
  std::string out = "  ";
  for (char c : text) out += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return out;
}

std::string Program::names_of(const std::vector<int>& numbers) const {
  std::string out;
  for (int number : numbers) {
    out += (out.empty() ? "" : ", ") + variables_[static_cast<size_t>(number)].name;
  }
  return out;
}

std::string Program::text() const {
  std::string out;
  for (const std::string& line : lines()) out += (out.empty() ? "" : "\n") + line;
  for (const auto& [name, part] : parts_) out += "\n" + name + ":\n" + indented(part->text());
  for (const Step& step : steps_) {
    const Holder* holder = holder_of(*step.op);
    for (size_t i = 0; holder != nullptr && i < holder->calls.size(); ++i) {
      const Stretch& call = *holder->calls[i];
      out += "\n" + call.name() + " of " + names_of(step.outputs) + ":\n" + indented(call.text());
    }
  }
  return out;
}

}  // namespace tensorlike
