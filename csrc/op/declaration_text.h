// Declarations in the form that the core has of them (op/spec.h), as JSON: the built-in ones, what
// Python declares, and parts of files. See docs/program_file.md.
#pragma once

#include <string>
#include <variant>

#include "base/json.h"
#include "op/identities.h"
#include "op/registry.h"

namespace tensorlike {

DType read_dtype(const Json::Value& value);
// An attribute's value. Arrays, which only constants hold, are not among them.
void write_attr(JsonText& out, const Attr& attr);
Attr read_attr(const Json::Value& value);

void write_declaration(JsonText& out, const Registry::Entry& entry);
void write_declaration(JsonText& out, const AnySpec& spec);
// One of a file, or of this process, whose compiler of declarations has checked it.
// ErrorKind::kArgument where the form is wrong; whether it makes sense, `check_declarations` says.
enum class From : uint8_t { kFile, kProcess };
AnySpec read_declaration(const Json::Value& value, From from);
const std::string& name_of(const AnySpec& spec);

// Of the built-in ones, whose text stays: bodies and gradients are read when somebody asks.
AnySpec read_built_in(std::string_view text);
IdentitySpec read_identity(std::string_view text);

}  // namespace tensorlike
