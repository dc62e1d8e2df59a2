// Binding a wrapper to another value: see rebinding.cpp, and journals.cpp.
#pragma once

#include "bind/objects.h"

namespace tensorlike::bind {

// A transform begins and ends: what older wrappers were bound to inside is lowered then.
void begin_level(const Ref<Tape>& tape);
void end_level(const Tape& tape);

// The wrapper is about to be bound to the value.
void note_rebinding(PyObject* wrapper, const Value& value);
// The leaf has accumulated a gradient.
void note_gradient(const Ref<Node>& leaf);
// Whether the wrapper's elements, if nobody else holds them, may be written over.
bool may_donate(PyObject* wrapper);
// Fails where a wrapper from outside of a vmap would get what differs between examples.
void check_examples(PyObject* wrapper, const Value& value);

using Bindings = std::vector<std::pair<Object, Ref<Value>>>;
// Binds wrappers, the last of them first: all of them, even where that fails for one.
void rebind_all(const Bindings& bindings);
// From now on this thread notes what older wrappers were bound to; its end gives that.
uint64_t begin_journal();
// The same of wrappers that hold something else for a while: what they are to be bound to then.
uint64_t begin_holding(Bindings own);
// In any order, and in any thread: a generator may have left it open.
Bindings end_journal(uint64_t number);
// Wrappers so far, and what they were bound to when it began.
Bindings journal_entries(uint64_t number);
// Whether the wrapper was there when it began, and is bound to what it was.
bool is_as_before(uint64_t number, PyObject* wrapper);
// The wrapper is about to be bound to something else; whether a journal would take that back.
void note_in_journals(PyObject* wrapper);
bool is_noted(PyObject* wrapper);

// While Python's collector runs finalizers, wrappers are bound to what they are outside of all that
// goes on in this thread: see collections.cpp. Those that were put aside are to be taken back.
std::vector<uint64_t> put_journals_aside();
void take_journals_back(const std::vector<uint64_t>& numbers);
// Something begins in which finalizers are to have no part.
void keep_finalizers_outside();
// Whether both are one value, which several objects may stand for.
bool is_same_value(const Value& x, const Value& y);

// Where the value is on a tape, under the tensor-likes of transforms, and above or below carriers;
// null: it carries no gradient there.
Ref<Tracer> tracer_under(Value* value, const Tape& tape);
// That of the base tape.
Ref<Tracer> base_tracer(Value* value);
// Whether a wrapper is a leaf, or has a history.
bool carries_gradient(PyObject* wrapper);
// The value as a leaf: on the base tape, or, where it belongs to a transform that is going on, on
// the tape of that transform's leaves. Ops find the innermost transform on the outside of a value,
// and would lose what lies under a leaf of an outer one.
Ref<Tracer> leaf_of(Ref<Value> value);
// Where the wrapped value is a leaf of the base tape; null: it is none.
Ref<Tracer> base_leaf(Value* value);
// Elements that a wrapper alone is to hold: in order, and no part of a larger tensor.
Ref<Value> settled(Ref<Value> value);
// Binds the wrapper to the value without its history on the base tape, as this leaf of that (null:
// as none).
void bind_on_base(PyObject* wrapper, Ref<Value> value, const Ref<Tracer>& leaf);

}  // namespace tensorlike::bind
