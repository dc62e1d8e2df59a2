#include "op/attr.h"

#include <limits>

#include "base/error.h"

namespace tensorlike {

bool AttrType::take(Attr& value) const {
  if (const auto* integer = std::get_if<int64_t>(&value); integer && !holds.has(Form::kInt)) {
    if (holds.has(Form::kFloat)) {
      value = static_cast<double>(*integer);
    } else if (takes.has(Form::kInt)) {
      value = std::vector<int64_t>{*integer};
    }
  }
  if (const auto* name = std::get_if<std::string>(&value); name && !holds.has(Form::kStr)) {
    const std::optional<DType> dtype = dtype_named(*name);
    if (dtype && holds.has(Form::kDType)) value = *dtype;
  }
  return holds.has(form_of(value));
}

std::optional<DType> dtype_named(std::string_view name) {
  for (int d = 0; d < kDTypeCount; ++d) {
    if (kDTypes[d].name == name) return static_cast<DType>(d);
  }
  return {};
}

std::span<const AttrType> attr_types() {
  static const AttrType types[] = {
#include "attr_types.inc"
  };
  return types;
}

const AttrType* attr_type(std::string_view name) {
  for (const AttrType& type : attr_types()) {
    if (type.name == name) return &type;
  }
  fail(ErrorKind::kDeclaration, "there is no type '", name, "' of attributes.");
}

}  // namespace tensorlike
