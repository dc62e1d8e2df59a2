// Programs to bytes: the structure as JSON, arrays and weights as safetensors.
#include <algorithm>

#include "op/registry.h"
#include "program/declarations.h"
#include "program/file.h"
#include "program/held_in_file.h"

namespace tensorlike {
namespace {

class Writer {
 public:
  Writer(const ProgramFile& file, Language* language) : file_(file), language_(language) {}

  std::string write() {
    collect(*file_.program);
    out_.object();
    if (!held_.programs().empty()) write_held();
    out_.key("program");
    const std::vector<int> results = write_program(*file_.program, file_.numbers());
    out_.key("results").list();
    for (size_t i = 0; i < results.size(); ++i) {
      out_.list().text(file_.results[i].first).integer(results[i]).end();
    }
    out_.end().key("sources").list();
    const auto sources =
        language_ == nullptr ? std::vector<Language::Source>() : language_->sources_of(names_);
    for (const Language::Source& source : sources) write_texts(source);
    out_.end().key("declarations").list();
    for (const Registry::Entry& entry : declarations_of(names_)) write_declaration(out_, entry);
    out_.end().key("weights").list();
    for (const auto& [name, tensor] : file_.weights) {
      out_.object().key("name").text(name);
      write_kind(tensor->spec());
      out_.key("tensor").text(add_tensor("state." + name, tensor)).end();
    }
    const std::string structure = out_.end().end().take();
    return write_sections({structure, write_tensors(tensors_)});
  }

 private:
  void write_texts(const std::vector<std::string>& texts) {
    out_.list();
    for (const std::string& each : texts) out_.text(each);
    out_.end();
  }

  // Under one name, however often it is asked for.
  const std::string& add_tensor(const std::string& name, const Ref<RawTensor>& tensor) {
    const auto [known, is_new] = keys_.try_emplace(tensor.get(), name);
    if (is_new) tensors_.emplace(name, tensor);
    return known->second;
  }
  const std::string& add_tensor(const Ref<RawTensor>& tensor) {
    return add_tensor("array." + std::to_string(tensors_.size()), tensor);
  }

  // What ops are called, the words among their attributes, and the programs that they hold.
  void collect(const Program& program) {
    for (const Program::Step& step : program.steps()) {
      if (const Holder* holder = holder_of(*step.op)) {
        for (const Ref<Stretch>& call : holder->calls) {
          held_.meet(*call, [&](const Program& inner) { collect(inner); });
        }
        continue;
      }
      names_.insert(step.op->cls.name());
      for (const Attr& attr : step.op->attrs) {
        if (const auto* word = std::get_if<std::string>(&attr)) names_.insert(*word);
      }
    }
    for (const auto& [name, part] : program.parts()) collect(*part);
  }

  void write_held() {
    out_.key("programs").list();
    for (HeldInFile::Entry* entry : held_.programs()) {
      entry->places = write_program(*entry->program, entry->variables);
    }
    out_.end();
  }

  void write_holder(const Holder& holder) {
    out_.key("holds").text(holder.form().name).key("calls").list();
    for (const Ref<Stretch>& call : holder.calls) {
      const HeldInFile::Entry& entry = held_.of(*call->program);
      out_.list().integer(static_cast<int64_t>(entry.number));
      for (const std::vector<int>* numbers : {&call->given, &call->results}) {
        out_.list();
        for (int number : *numbers) out_.integer(entry.place_of(number));
        out_.end();
      }
      out_.end();
    }
    out_.end().key("params").object();
    for (size_t i = 0; i < holder.params.size(); ++i) {
      out_.key(holder.form().params[i]);
      write_attr(out_, holder.params[i]);
    }
    out_.end();
  }

  // Values that nobody reads are left out: from which variables to those of the file.
  struct Place {
    const Program& program;
    std::map<int, int> numbers;
    std::vector<bool> is_read;

    int of(int variable) const {
      const auto found = numbers.find(variable);
      if (found != numbers.end()) return found->second;
      fail(ErrorKind::kArgument, said::op("save"), "results must follow from steps of the program",
           said::got(program.variables()[static_cast<size_t>(variable)].name));
    }
  };

  static std::vector<bool> read_in(const Program& program, const std::vector<int>& results) {
    std::vector<bool> is_read(program.variables().size(), false);
    const auto read = [&](int variable) { is_read[static_cast<size_t>(variable)] = true; };
    for (const Program::Step& step : program.steps()) {
      std::for_each(step.inputs.begin(), step.inputs.end(), read);
    }
    std::for_each(results.begin(), results.end(), read);
    for (const auto& [state, value] : program.assigned()) read(value);
    return is_read;
  }

  // Where the results are.
  std::vector<int> write_program(const Program& program, const std::vector<int>& results) {
    Place place{program, {}, read_in(program, results)};
    out_.object().key("sizes").list();
    for (const std::string& name : program.unknown_sizes()) out_.text(name);
    out_.end().key("lines").list();
    size_t at = 0;
    const auto write_steps = [&](size_t variable) {
      const auto& steps = program.steps();
      for (; at < steps.size() && static_cast<size_t>(steps[at].before) <= variable; ++at) {
        write_step(place, steps[at]);
      }
    };
    for (size_t i = 0; i < program.variables().size(); ++i) {
      write_steps(i);
      write_variable(place, static_cast<int>(i));
    }
    write_steps(program.variables().size());
    out_.end();
    write_rest(place);
    std::vector<int> found;
    for (int result : results) found.push_back(place.of(result));
    return found;
  }

  void write_rest(const Place& place) {
    out_.key("assigned").list();
    for (const auto& [state, value] : place.program.assigned()) {
      out_.list().integer(place.of(state)).integer(place.of(value)).end();
    }
    out_.end().key("guards").list();
    for (const Program::Guard& guard : place.program.guards()) {
      out_.list();
      write_expression(place, guard.a);
      write_expression(place, guard.b);
      out_.text(guard.how).flag(guard.answer).text(guard.place);
      if (!guard.op.empty()) out_.text(guard.op);
      out_.end();
    }
    out_.end();
    if (!place.program.draws.empty()) {
      out_.key("draws").list();
      for (const auto& [draw, is_key_alone] : place.program.draws) {
        out_.list().integer(draw.first).integer(draw.second).flag(is_key_alone).end();
      }
      out_.end();
    }
    out_.key("parts").object();
    for (const auto& [name, part] : place.program.parts()) {
      out_.key(name);
      write_program(*part, {});
    }
    out_.end().end();
  }

  void write_variable(Place& place, int number) {
    using Role = Program::Role;
    const auto index = static_cast<size_t>(number);
    const Program::Variable& variable = place.program.variables()[index];
    if (variable.role == Role::kResult) return;
    if (variable.role == Role::kCaptured && !place.is_read[index]) return;
    place.numbers[number] = static_cast<int>(place.numbers.size());
    out_.object();
    if (variable.role == Role::kInput) {
      out_.key("input").text(variable.name).key("dtype").text(name_of(variable.spec.dtype));
      write_shape(place.program, variable);
    } else {
      out_.key(variable.role == Role::kState ? "state" : "captured").text(variable.name);
      write_kind(variable.spec);
    }
    if (variable.role == Role::kCaptured) write_captured(variable);
    out_.end();
  }

  void write_kind(const Spec& spec) {
    out_.key("dtype").text(name_of(spec.dtype)).key("shape").list();
    for (int64_t size : spec.shape) out_.integer(size);
    out_.end();
  }

  void write_shape(const Program& program, const Program::Variable& input) {
    out_.key("shape").list();
    for (size_t i = 0; i < input.spec.shape.size(); ++i) {
      const Witness witness{input.spec.shape[i], input.other.shape[i]};
      witness.is_known() ? out_.integer(witness.first)
                         : out_.object().key("size").integer(size_of(program, witness)).end();
    }
    out_.end();
  }

  // Which of the program's unknown sizes it is.
  static int64_t size_of(const Program& program, const Witness& witness) {
    for (size_t i = 0;; ++i) {
      const auto [variable, dimension] = program.place_of_size(i);
      const Program::Variable& first = program.variables()[static_cast<size_t>(variable)];
      const auto at = static_cast<size_t>(dimension);
      if (Witness{first.spec.shape[at], first.other.shape[at]} == witness) {
        return static_cast<int64_t>(i);
      }
    }
  }

  void write_captured(const Program::Variable& variable) {
    if (!variable.value || variable.value->tag != Value::kRaw) {
      fail(ErrorKind::kAttribute, said::op("save"), "the captured value ", variable.name,
           " must be an array", said::got(variable.note), said::fix("give it as an input"));
    }
    const Ref<RawTensor> tensor(static_cast<RawTensor*>(variable.value.get()));
    out_.key("note").text(variable.note).key("tensor").text(add_tensor(tensor));
  }

  void write_step(Place& place, const Program::Step& step) {
    out_.object();
    if (const Holder* holder = holder_of(*step.op)) {
      write_holder(*holder);
    } else if (step.op->cls.is_declared) {
      write_op(place, step);
    } else if (language_ != nullptr) {
      out_.key("foreign").text(language_->text_of(*step.op));
    } else {
      fail(ErrorKind::kArgument, said::op("save"), "the op ", step.op->name(),
           " must be one that the core knows");
    }
    out_.key("inputs").list();
    for (int input : step.inputs) out_.integer(place.of(input));
    out_.end().key("outputs").list();
    for (int output : step.outputs) {
      place.numbers[output] = static_cast<int>(place.numbers.size());
      out_.list().text(place.program.variables()[static_cast<size_t>(output)].name);
      out_.text(place.program.describe(output)).end();
    }
    out_.end();
    if (!step.place.empty()) out_.key("line").text(step.place);
    out_.end();
  }

  void write_op(const Place& place, const Program::Step& step) {
    const OpClass& cls = step.op->cls;
    out_.key("op").text(shared_name(cls));
    if (cls.spec.version != 1) out_.key("version").integer(cls.spec.version);
    out_.key("attrs").object();
    const auto* constant = dynamic_cast<const ConstOp*>(step.op.get());
    for (size_t i = 0; i < step.op->attrs.size(); ++i) {
      out_.key(cls.spec.attrs[i].name);
      if (constant != nullptr && constant->array && i == 0) {
        out_.object().key("array");
        out_.object().key("tensor").text(add_tensor(constant->array));
        write_kind(constant->array->spec());
        out_.end().end();
      } else {
        write_value(step, i);
      }
    }
    out_.end();
    if (step.exprs.empty()) return;
    out_.key("sizes").object();
    for (const auto& [index, expr] : step.exprs) {
      out_.key(cls.spec.attrs[index].name);
      write_expression(place, expr);
    }
    out_.end();
  }

  // In the place of what follows from unknown sizes, a zero of its type.
  void write_value(const Program::Step& step, size_t index) {
    const Attr& attr = step.op->attrs[index];
    const bool is_made = std::any_of(step.exprs.begin(), step.exprs.end(),
                                     [&](const auto& entry) { return entry.first == index; });
    if (!is_made) {
      write_attr(out_, attr);
    } else if (std::holds_alternative<double>(attr)) {
      write_attr(out_, 0.0);
    } else {
      write_attr(out_, int64_t{0});
    }
  }

  // The name that all versions of an op have.
  static std::string shared_name(const OpClass& cls) {
    const std::string ending = "V" + std::to_string(cls.spec.version);
    if (!cls.name().ends_with(ending)) return cls.name();
    const std::string shared = cls.name().substr(0, cls.name().size() - ending.size());
    const OpClass* newest = registry().find_op(shared);
    const bool is_older = newest != nullptr && newest->spec.version > cls.spec.version;
    return is_older ? shared : cls.name();
  }

  void write_expression(const Place& place, const AttrExpr& expr) {
    switch (expr.kind) {
      case AttrExpr::Kind::kDim:
        out_.list().text("size").integer(place.of(expr.slot)).integer(expr.dim).end();
        return;
      case AttrExpr::Kind::kLiteral:
        write_attr(out_, expr.literal);
        return;
      default:
        break;
    }
    out_.list().text(expr.kind == AttrExpr::Kind::kTuple ? "tuple" : expr.attr);
    for (const AttrExpr& part : expr.parts) write_expression(place, part);
    out_.end();
  }

  const ProgramFile& file_;
  Language* const language_;
  JsonText out_;
  std::set<std::string> names_;
  HeldInFile held_;
  NamedTensors tensors_;
  std::map<const RawTensor*, std::string> keys_;
};

}  // namespace

std::string write_program(const ProgramFile& file, Language* language) {
  return Writer(file, language).write();
}

}  // namespace tensorlike
