// One list of fields for each part of a declaration, by which it is written and read: `a` is called
// with the name of each, the field, and the value that it usually has. What is `a.local` is of this
// process: no part of files.
#pragma once

#include <concepts>
#include <string_view>

#include "op/identities.h"
#include "op/spec.h"

namespace tensorlike {

// The words of enumerators, in their order.
template <class T>
inline constexpr std::string_view kNames[] = {""};
template <>
inline constexpr std::string_view kNames<Category>[] = {"all",          "numeric",
                                                        "real numeric", "real or boolean",
                                                        "floating",     "real floating-point",
                                                        "integer",      "integer or boolean",
                                                        "boolean"};
template <>
inline constexpr std::string_view kNames<Result>[] = {"same", "bool", "int64",
                                                      "sum",  "real", "complex"};
template <>
inline constexpr std::string_view kNames<AttrExpr::Kind>[] = {
    "literal", "attr", "shape", "dim", "dtype", "arithmetic", "tuple", "size", "rank", "flows"};
template <>
inline constexpr std::string_view kNames<ShapePart::Kind>[] = {
    "size", "group", "resized", "reduced", "reduced some", "held", "permuted"};
template <>
inline constexpr std::string_view kNames<ComputesIn>[] = {"", "result", "promoted"};
template <>
inline constexpr std::string_view kNames<IdentitySpec::Holds>[] = {"exactly", "nearly",
                                                                   "definition", "body"};
template <>
inline constexpr std::string_view kNames<ResultShape::Of>[] = {"joint", "real", "complex", "arg",
                                                               "given", "attr", "scalar"};

template <class S, class T>
concept Is = std::same_as<std::remove_const_t<S>, T>;

template <class A, Is<AttrExpr> S>
void fields(A& a, S& x) {
  a("kind", x.kind);
  a("literal", x.literal);
  a("attr", x.attr);
  a("slot", x.slot);
  a("dim", x.dim);
  a("parts", x.parts);
}
template <class A, Is<Step> S>
void fields(A& a, S& x) {
  a("call", x.call);
  a("args", x.args);
  a("attrs", x.attrs);
  a("outputs", x.outputs, 1);
}
template <class A, Is<Body> S>
void fields(A& a, S& x) {
  a("inputs", x.inputs);
  a("constants", x.constants);
  a("steps", x.steps);
  a("results", x.results);
}
template <class A, Is<Grad> S>
void fields(A& a, S& x) {
  a("input", x.input);
  a("body", x.body);
  a("adds_up", x.adds_up);
  a("match", x.match);
  a("choice", x.choice);
  a("beside", x.beside);
}
template <class A, Is<Condition> S>
void fields(A& a, S& x) {
  a("text", x.text);
  a("body", x.body);
}
template <class A, Is<ArgSpec> S>
void fields(A& a, S& x) {
  a("name", x.name);
  a("category", x.category);
  a("variadic", x.variadic);
  a("optional", x.optional);
  a("fallback", x.fallback);
}
template <class A, Is<AttrSpec> S>
void fields(A& a, S& x) {
  a("name", x.name);
  a("type", x.type);
  a("required", x.required, true);
  a("fallback", x.fallback);
  a("choices", x.choices);
}
template <class A, Is<ShapePart> S>
void fields(A& a, S& x) {
  a("kind", x.kind);
  a("group", x.group);
  a("size", x.size);
  a("axis", x.axis);
}
template <class A, Is<ArgShape> S>
void fields(A& a, S& x) {
  a("arg", x.arg);
  a("broadcasts", x.broadcasts);
  a("parts", x.parts);
  a("text", x.text);
}
template <class A, Is<ResultShape> S>
void fields(A& a, S& x) {
  a("of", x.of);
  a("from", x.from);
  a("dtype", x.dtype);
  a("parts", x.parts);
  a("when", x.when, literal(true));
}
template <class A, Is<ShapeCase> S>
void fields(A& a, S& x) {
  a("when", x.when, literal(true));
  a("args", x.args);
  a("results", x.results);
}
template <class A, Is<SizeCondition> S>
void fields(A& a, S& x) {
  a("text", x.text);
  a("holds", x.holds);
}
template <class A, Is<ShapeSpec> S>
void fields(A& a, S& x) {
  a("sizes", x.sizes);
  a("groups", x.groups);
  a("broadcast", x.broadcast, -1);
  a("cases", x.cases);
  a("conditions", x.conditions);
}
template <class A, Is<ScalarSpec> S>
void fields(A& a, S& x) {
  a("name", x.name);
  a("args", x.args);
  a("result", x.result);
  a("outputs", x.outputs, 1);
  a("grads", x.grads);
  a("complex_grads", x.complex_grads);
  a("differentiable", x.differentiable, true);
  a("expansion", x.expansion);
  a("derived", x.derived);
  a("unchanged", x.unchanged);
  a("conditions", x.conditions);
  a("linear", x.linear);
  a.local("source", x.source);
}
template <class A, Is<ReductionSpec> S>
void fields(A& a, S& x) {
  a("name", x.name);
  a("arg", x.arg);
  a("result", x.result);
  a("grads", x.grads);
  a("complex_grads", x.complex_grads);
  a("differentiable", x.differentiable, true);
  a("has_identity", x.has_identity, true);
  a("single_axis", x.single_axis);
  a("linear", x.linear);
  a("map", x.map);
  a("combine", x.combine);
  a("finish", x.finish);
  a("init", x.init);
  a.local("source", x.source);
}
template <class A, Is<MemorySpec> S>
void fields(A& a, S& x) {
  a("view", x.view);
  a("contiguous", x.contiguous);
  a("computes_in", x.computes_in);
  a("reuses", x.reuses, -1);
}
template <class A, Is<OpSpec> S>
void fields(A& a, S& x) {
  a("name", x.name);
  a("version", x.version, 1);
  a("args", x.args);
  a("attrs", x.attrs);
  a("outputs", x.outputs, 1);
  a("infer", x.infer);
  a("kernel", x.kernel);
  a("grad", x.grad);
  a("grads", x.grads);
  a("complex_grads", x.complex_grads);
  a("differentiable", x.differentiable, true);
  a("define", x.define);
  a("expand", x.expand);
  a("linear", x.linear);
  a("batch", x.batch);
  a.local("memory", x.memory);
  a("conditions", x.conditions);
  a("shapes", x.shapes);
  a("effects", x.effects);
  a("channels", x.channels);
  a.local("source", x.source);
}
template <class A, Is<FunctionSpec> S>
void fields(A& a, S& x) {
  a("name", x.name);
  a("op", x.op);
  a("fixed", x.fixed);
  a("args", x.args);
  a("attrs", x.attrs);
}

template <class A, Is<IdentitySpec> S>
void fields(A& a, S& x) {
  a("text", x.text);
  a("holds", x.holds);
  a("from", x.from);
  a("to", x.to);
}

template <class T>
concept Named = std::is_enum_v<T> && sizeof(kNames<T>) > sizeof(std::string_view);

}  // namespace tensorlike
