// Programs as text, a line for each input, captured value and op.
#include <set>

#include "op/registry.h"
#include "program/holder.h"
#include "program/program.h"

namespace tensorlike {

// As Python writes it between two numbers; empty: in front of them.
static std::string sign_of(std::string_view how) {
  if (how == "add") return "+";
  if (how == "multiply") return "*";
  if (how == "divide") return "/";
  if (how == "floor_divide") return "//";
  if (how == "remainder") return "%";
  return how == "pow" ? "**" : "";
}

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
      const std::string sign = sign_of(expr.attr);
      if (sign.empty()) {
        std::string out = expr.attr + "(";
        for (size_t i = 0; i < expr.parts.size(); ++i) {
          out += (i > 0 ? ", " : "") + text_of(expr.parts[i]);
        }
        return out + ")";
      }
      const bool is_sum = expr.attr == "add";
      const auto part = [&](const AttrExpr& one, bool is_behind) {
        const bool is_plain = one.kind != AttrExpr::Kind::kArithmetic || is_sum ||
                              sign_of(one.attr).empty() ||
                              (!is_behind && one.attr == expr.attr && expr.attr != "pow");
        return is_plain ? text_of(one) : "(" + text_of(one) + ")";
      };
      const std::string a = part(expr.parts[0], false);
      const std::string b = part(expr.parts[1], true);
      if (!is_sum && expr.attr == "multiply" && a == "-1") return "-" + b;
      if (!is_sum) return a + " " + sign + " " + b;
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
  for (std::string& line : assumptions()) out.push_back("assumes " + std::move(line));
  for (const auto& [state, value] : assigned_) {
    out.push_back(variables_[static_cast<size_t>(state)].name + " <- " +
                  variables_[static_cast<size_t>(value)].name);
  }
  return out;
}

std::string Program::text_of(const Guard& guard) const {
  std::string a = text_of(guard.a), b = text_of(guard.b), how = guard.how;
  if (!guard.answer && how != "==") {  // not a < b is b <= a
    std::swap(a, b);
    how = how == "<" ? "<=" : "<";
  }
  return a + " " + (!guard.answer && how == "==" ? "!=" : how) + " " + b;
}

// Of those that are there twice, as in a program that was read from a file, the one that an op
// has made.
std::vector<std::string> Program::assumptions() const {
  std::vector<std::string> out;
  std::set<std::string> told;
  for (const bool is_of_op : {true, false}) {
    for (const Guard& guard : guards_) {
      const bool is_known =
          guard.a.kind == AttrExpr::Kind::kLiteral && guard.b.kind == AttrExpr::Kind::kLiteral;
      if (is_known || guard.op.empty() == is_of_op) continue;
      std::string line = text_of(guard);
      if (!told.insert(line).second) continue;
      const bool has_both = is_of_op && !guard.place.empty();
      const std::string where = guard.op + (has_both ? ", " : "") + guard.place;
      out.push_back(where.empty() ? line : line + "  # " + where);
    }
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
