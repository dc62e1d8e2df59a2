#include "program/read_held.h"

#include <algorithm>

#include "program/declarations.h"
#include "program/read_sizes.h"

namespace tensorlike {
namespace {

// What is planned for a call grows with the steps of its program, which may have many.
constexpr size_t kPlannedAlways = 100'000;
constexpr size_t kPlannedPerByte = 4;
// A program that calls one twice, which calls another twice, is short and runs for long.
constexpr size_t kMostDepth = 16;

std::vector<int> read_variables(const Program& program, const Json::Value& value) {
  std::vector<int> found;
  for (const Json::Value& each : value.list("variables")) {
    found.push_back(read_variable(program, each));
  }
  return found;
}

}  // namespace

HeldPrograms::HeldPrograms(size_t bytes) : budget_(kPlannedAlways + kPlannedPerByte * bytes) {}

void HeldPrograms::add(Ref<Program> program) {
  const size_t depth = ++depths_[program.get()];
  if (depth > kMostDepth) {
    fail(ErrorKind::kArgument, "programs must lie in each other at most ", kMostDepth, " deep");
  }
  programs_.push_back(std::move(program));
}

Ref<Stretch> HeldPrograms::read_call(const Json::Value& value, size_t& depth) {
  auto part = value.list("a program, what it is given, and its results", 3).begin();
  const auto count = static_cast<int64_t>(programs_.size());
  const int64_t number = (*part).integer("a program before this one", 0, count - 1);
  const Ref<Program>& program = programs_[static_cast<size_t>(number)];
  std::vector<int> given = read_variables(*program, *++part);
  std::vector<int> results = read_variables(*program, *++part);
  depth = std::max(depth, depths_[program.get()]);
  const auto [known, is_new] = calls_.try_emplace(Key(number, given, results));
  if (!is_new) return known->second;
  const size_t planned = program->steps().size() + program->variables().size();
  if (planned > budget_) fail(ErrorKind::kArgument, "calls of programs must be fewer");
  budget_ -= planned;
  known->second = make_ref<Stretch>(program, std::move(given), std::move(results));
  return known->second;
}

Ref<const Op> HeldPrograms::read_op(const Program& around, const JsonFields& line) {
  const Holder::Kind kind = Holder::kind_of_name(line.at("holds").text("a kind of op"));
  size_t depth = 0;
  std::vector<Ref<Stretch>> calls;
  for (const Json::Value& call : line.at("calls").list("calls")) {
    calls.push_back(read_call(call, depth));
  }
  size_t& own = depths_[&around];
  own = std::max(own, depth);
  const auto& names = Holder::form_of(kind).params;
  const Json::Parts parts = line.at("params").object("parameters");
  auto at = parts.begin();
  std::vector<Attr> params;
  for (size_t i = 0; i < names.size() && parts.size() == names.size(); ++i, ++at) {
    if ((*at).text("a name") != names[i]) break;
    params.push_back(read_attr(*++at));
  }
  if (params.size() != names.size() || parts.size() != names.size()) {
    fail(ErrorKind::kArgument, "parameters must be those of the op, in their order");
  }
  return op_around(make_ref<Holder>(kind, std::move(calls), std::move(params)));
}

}  // namespace tensorlike
