// Functional calls for rules and bodies that are written in C++.
#include <algorithm>

#include "op/registry.h"
#include "tensor/body.h"

namespace tensorlike {

Ref<Value> call(std::string_view function, std::initializer_list<Value*> args,
                std::span<const NamedAttr> attrs) {
  const Function* f = registry().find_function(function);
  if (f == nullptr) {
    fail(ErrorKind::kArgument, said::op("call"), said::argument("function"),
         "must be the name of a functional call", said::got(std::string(function)));
  }
  for (const auto& [name, value] : attrs) {
    const auto& known = f->spec.attrs;
    if (std::none_of(known.begin(), known.end(),
                     [&](const AttrSpec& spec) { return spec.name == name; })) {
      fail(ErrorKind::kAttribute, said::op(function), "extra kwargs: {'", name, "'}.");
    }
  }
  std::vector<Attr> values;
  if (!f->shared_op) {
    values.reserve(f->spec.attrs.size());
    for (const AttrSpec& spec : f->spec.attrs) {
      const auto given = std::find_if(attrs.begin(), attrs.end(), [&](const NamedAttr& attr) {
        return attr.first == spec.name;
      });
      values.push_back(given == attrs.end() ? spec.fallback : given->second);
    }
  }
  const Ref<Op> op = f->shared_op ? f->shared_op : f->make_op(std::move(values));
  SmallVector<Value*, 4> pointers(args.begin(), args.end());
  return apply(*op, {pointers.data(), pointers.size()})[0];
}

Ref<Value> zeros(const Spec& spec, Value& like) {
  Ref<Value> zero = lift_literal(int64_t{0}, like);
  if (spec_of("zeros", *zero).dtype != spec.dtype) {
    zero = call("astype", {zero.get()}, {{"dtype", spec.dtype}});
  }
  const std::vector<int64_t> shape(spec.shape.begin(), spec.shape.end());
  return call("broadcast_to", {zero.get()}, {{"shape", shape}});
}

}  // namespace tensorlike
