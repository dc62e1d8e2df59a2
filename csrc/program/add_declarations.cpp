// From the declarations of a file to the registry.
#include <optional>

#include "dispatch/dispatcher.h"
#include "program/declarations.h"

namespace tensorlike {
namespace {

// A part of a declaration takes some 300 bytes in memory, and could take two in a file.
constexpr size_t kFewObjects = 1024, kBytesOfObject = 8;

std::optional<Registry::Entry> find(const AnySpec& spec) {
  const std::string& name = name_of(spec);
  const auto entry = [](const auto* known) {
    return known == nullptr ? std::nullopt : std::optional<Registry::Entry>(known);
  };
  switch (spec.index()) {
    case 0:
      return entry(registry().find_scalar(name));
    case 1:
      return entry(registry().find_reduction(name));
    case 2:
      return entry(registry().find_op(name));
    default:
      return entry(registry().find_function(name));
  }
}

template <class T>
std::string written(const T& declaration) {
  JsonText out;
  write_declaration(out, declaration);
  return out.take();
}

}  // namespace

void add_declarations(const Json::Value& declarations, size_t bytes, bool compares) {
  if (declarations.objects() > kFewObjects + bytes / kBytesOfObject) {
    fail(ErrorKind::kArgument, "declarations must say what their parts are",
         said::got(declarations.objects(), " parts in ", bytes, " bytes"));
  }
  std::vector<AnySpec> missing;
  for (const Json::Value& value : declarations.list("declarations")) {
    AnySpec spec = read_declaration(value, From::kFile);
    if (const auto known = find(spec)) {
      if (!compares || written(*known) == written(spec)) continue;
      fail(ErrorKind::kArgument, name_of(spec),
           " must be declared as it was; it is declared otherwise here");
    }
    if (brings_code(spec)) {
      fail(ErrorKind::kArgument, name_of(spec), " must be declared here",
           said::got("an op whose kernel is ", std::get<OpSpec>(spec).kernel),
           said::fix("load what declares it first: reading a file loads no code"));
    }
    missing.push_back(std::move(spec));
  }
  if (missing.empty()) return;
  check_declarations(missing);
  registry().add_all(std::move(missing));
  dispatcher().invalidate();
}

}  // namespace tensorlike
