// Ops by name, with attributes and slots by name.
#include <algorithm>

#include "op/registry.h"
#include "program/deferred.h"

namespace tensorlike::tape {

void check_given(const char* who, const void* handle) {
  if (handle != nullptr) return;
  fail(ErrorKind::kAttribute, said::op(who), "a variable must be given",
       said::got("a null handle"));
}

Attributes take_numbers(const std::string& type, Attributes& attributes) {
  Attributes numbers;
  const Function* function = registry().find_function(type);
  for (const ArgSpec& arg :
       function == nullptr ? std::span<const ArgSpec>() : function->spec.args) {
    if (std::holds_alternative<Nothing>(arg.fallback)) continue;
    const auto found = std::find_if(attributes.begin(), attributes.end(),
                                    [&](const auto& pair) { return pair.first == arg.name; });
    if (found == attributes.end()) continue;
    const Attr& value = found->second;
    if (!std::holds_alternative<int64_t>(value) && !std::holds_alternative<double>(value)) {
      fail(ErrorKind::kAttribute, said::op(type), said::argument(arg.name), "must be a number",
           said::got(to_string(value)), said::fix("give a variable among the inputs"));
    }
    numbers.push_back(std::move(*found));
    attributes.erase(found);
  }
  return numbers;
}

Ref<Op> op_by_name(const std::string& type, Attributes attributes) {
  if (const OpClass* found = registry().find_op(type)) {
    return make_op(*found, std::move(attributes));
  }
  const Function* function = registry().find_function(type);
  if (function == nullptr) {
    fail(ErrorKind::kAttribute, said::op("AddOp"), "the type must be a declared op or function",
         said::got("'", type, "'", registry().did_you_mean(type, true, true)));
  }
  const std::vector<AttrSpec>& specs = function->spec.attrs;
  Attributes all = function->spec.fixed;
  for (auto& [name, value] : attributes) {
    const bool is_one = std::any_of(specs.begin(), specs.end(),
                                    [&n = name](const AttrSpec& spec) { return spec.name == n; });
    if (!is_one) fail(ErrorKind::kAttribute, said::op(type), "it has no attribute '", name, "'.");
    all.emplace_back(name, std::move(value));
  }
  // What a function declares of an attribute, it may declare otherwise than the op's class.
  for (const AttrSpec& spec : specs) {
    const bool is_given = std::any_of(all.begin(), all.end(),
                                      [&](const auto& pair) { return pair.first == spec.name; });
    if (is_given) continue;
    if (spec.required) {
      fail(ErrorKind::kAttribute, said::op(type), "the attribute '", spec.name, "' is missing.");
    }
    all.emplace_back(spec.name, spec.fallback);
  }
  return make_op(*function->op_class, std::move(all));
}

Attributes OpHandle::attributes() const {
  Attributes out;
  for (size_t i = 0; i < op->attrs.size(); ++i) {
    out.emplace_back(op->cls.spec.attrs[i].name, op->attrs[i]);
  }
  return out;
}

namespace {

const Slot& find_slot(const std::vector<Slot>& slots, const std::string& name,
                      const std::string& type) {
  for (const Slot& slot : slots) {
    if (slot.name == name) return slot;
  }
  fail(ErrorKind::kAttribute, said::op(type), "it has no slot '", name, "' here.");
}

}  // namespace

const Slot& OpHandle::input(const std::string& name) const {
  return find_slot(inputs, name, type());
}
const Slot& OpHandle::output(const std::string& name) const {
  return find_slot(outputs, name, type());
}

size_t Ops::size() const { return tape_.program_->steps().size(); }

OpHandle Ops::operator[](size_t index) const {
  const Program::Step& step = tape_.program_->steps()[index];
  OpHandle handle{step.op, {}, {}};
  const auto add = [&](std::vector<Slot>& slots, const std::string& name, int variable) {
    if (slots.empty() || slots.back().name != name) slots.push_back({name, {}});
    slots.back().operands.push_back({tape_.descs_[static_cast<size_t>(variable)]});
  };
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    add(handle.inputs, slot_name(*step.op, i), step.inputs[i]);
  }
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    add(handle.outputs, step.outputs.size() == 1 ? "y" : "y" + std::to_string(i), step.outputs[i]);
  }
  return handle;
}

std::string Tape::to_dot() const {
  Picture picture;
  const auto add = [&](const Tape& tape, const char* title) {
    std::vector<uint64_t> ids;
    for (const Ref<const Desc>& desc : tape.descs_) ids.push_back(desc->id);
    picture.add(*tape.program_, title, ids);
  };
  const auto node = [](const Desc& desc) {
    return Picture::Node{desc.id, desc.name, to_string(desc.spec)};
  };
  add(*this, "forward tape");
  if (!backward_) return picture.text();
  add(*backward_, "backward tape");
  for (const auto& [desc, gradient] : gradients_)
    picture.add_gradient(node(*desc), node(*gradient));
  return picture.text();
}

Results::operator VariableHandle() const {
  if (size() != 1) {
    fail(ErrorKind::kAttribute, said::op("AddOp"),
         "the op must have one result to be used as a variable; it has ", size(),
         "; take one of them: results[0].");
  }
  return front();
}

}  // namespace tensorlike::tape
