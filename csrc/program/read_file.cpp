// Programs from bytes. Nothing of them is believed: each op is made and inferred again, and its
// results must be those that were written.
#include <algorithm>

#include "op/infer.h"
#include "op/registry.h"
#include "program/declarations.h"
#include "program/file.h"
#include "program/read_held.h"
#include "program/read_sizes.h"

namespace tensorlike {
namespace {

constexpr size_t kMostSizes = 32;  // what they may be made of grows as their third power
constexpr size_t kMostArguments = 4096;

class FileReader {
 public:
  FileReader(ProgramFile& file, Language* language, const Sections& sections)
      : file_(file),
        language_(language),
        structure_(Json::parse(sections.structure)),
        tensors_(sections.tensors),
        bytes_(sections.structure.size()),
        held_(sections.structure.size()) {}

  void read() {
    const JsonFields fields(
        structure_.root(), "a program",
        {"program", "programs", "results", "sources", "declarations", "weights"});
    restore(fields.at("sources"));
    add_declarations(fields.at("declarations"), bytes_, !has_sources_);
    if (fields.has("programs")) {
      for (const Json::Value& held : fields.at("programs").list("programs that ops hold")) {
        Ref<Program> program = make_ref<Program>();
        read_program(*program, held);
        held_.add(std::move(program));
      }
    }
    read_program(*file_.program, fields.at("program"));
    for (const Json::Value& result : fields.at("results").list("results")) {
      auto part = result.list("a name and a variable", 2).begin();
      std::string name((*part).text("a name"));
      file_.results.emplace_back(std::move(name), read_variable(*file_.program, *++part));
    }
    for (const Json::Value& weight : fields.at("weights").list("weights")) {
      const JsonFields kind(weight, "a weight", {"name", "dtype", "shape", "tensor"});
      std::string name(kind.at("name").text("a name"));
      if (!file_.weights.emplace(std::move(name), tensor(kind)).second) {
        fail(ErrorKind::kArgument, "weights must have names of their own");
      }
    }
  }

 private:
  void restore(const Json::Value& sources) {
    std::vector<Language::Source> found;
    for (const Json::Value& source : sources.list("sources")) {
      Language::Source& texts = found.emplace_back();
      for (const Json::Value& text : source.list("texts")) texts.emplace_back(text.text("a text"));
      if (texts.size() < 2 || texts.size() > 3) {
        fail(ErrorKind::kArgument, "a source must be a name, a text, and perhaps a library");
      }
    }
    if (language_ == nullptr || found.empty()) return;
    language_->restore(found);
    has_sources_ = true;
  }

  Ref<RawTensor> tensor(const JsonFields& fields) {
    return tensors_.take(std::string(fields.at("tensor").text("a tensor's name")), kind(fields));
  }
  static Spec kind(const JsonFields& fields) {
    Spec spec{read_dtype(fields.at("dtype")), {}};
    for (const Json::Value& size : fields.at("shape").list("a shape")) {
      spec.shape.push_back(size.integer("a size", 0, INT64_MAX));
    }
    element_count(spec.shape);
    return spec;
  }

  // A program that is being read.
  struct Place {
    Program& program;
    std::vector<Program::Dimension> sizes = {};  // those that are unknown
    std::vector<Spec> specs = {};                // of the variables so far

    std::span<const Spec> known_specs() {
      for (size_t i = specs.size(); i < program.variables().size(); ++i) {
        specs.push_back(program.variables()[i].spec);
      }
      return specs;
    }
  };

  void read_program(Program& program, const Json::Value& value) {
    const JsonFields fields(value, "a program",
                            {"sizes", "lines", "assigned", "guards", "draws", "parts"});
    Place place{program};
    for (const Json::Value& name : fields.at("sizes").list("sizes")) {
      place.sizes.push_back({kUnknownSize, std::string(name.text("the name of a size"))});
    }
    if (place.sizes.size() > kMostSizes) {
      fail(ErrorKind::kArgument, "a program must have at most ", kMostSizes, " unknown sizes",
           said::got(place.sizes.size()));
    }
    for (const Json::Value& line : fields.at("lines").list("lines")) read_line(place, line);
    for (const Json::Value& pair : fields.at("assigned").list("assignments")) {
      auto part = pair.list("a state and a value", 2).begin();
      const int state = read_variable(program, *part);
      program.assign(state, read_variable(program, *++part));
    }
    for (const Json::Value& guard : fields.at("guards").list("guards")) {
      read_guard(program, guard);
    }
    if (fields.has("draws")) read_draws(program, fields.at("draws"));
    const Json::Parts parts = fields.at("parts").object("parts by their names");
    for (auto at = parts.begin(); at != parts.end(); ++at) {
      const std::string name((*at).text("a name"));
      read_part(program, name, *++at);
    }
  }

  static void read_draws(Program& program, const Json::Value& draws) {
    for (const Json::Value& draw : draws.list("draws")) {
      auto part = draw.list("a key, a number, and whether it has none", 3).begin();
      const int64_t key = (*part).integer("a key", INT64_MIN, INT64_MAX);
      const int64_t number = (*++part).integer("a number", INT64_MIN, INT64_MAX);
      program.draws.insert({{key, number}, (*++part).flag("true or false")});
    }
  }

  void read_part(Program& program, const std::string& name, const Json::Value& value) {
    if (program.parts().count(name) > 0) {
      fail(ErrorKind::kArgument, "parts must have names of their own", said::got(name));
    }
    Ref<Program> part;
    if (language_ != nullptr && program.handle != nullptr) {
      part = language_->add_part(program, name);
    } else {
      part = make_ref<Program>();
      program.add_part(name, part);
    }
    read_program(*part, value);
  }

  void read_line(Place& place, const Json::Value& value) {
    Program& program = place.program;
    const JsonFields fields(
        value, "a line",
        {"input", "captured", "state", "note", "dtype", "shape", "tensor", "op", "version", "attrs",
         "sizes", "holds", "calls", "params", "foreign", "inputs", "outputs", "line"});
    if (fields.has("input")) {
      read_input(place, fields);
    } else if (fields.has("state")) {
      program.add_state(name(fields.at("state")), kind(fields));
    } else if (fields.has("captured")) {
      const Ref<RawTensor> array = tensor(fields);
      program.capture(array, array->spec(), std::string(fields.at("note").text("a note")),
                      name(fields.at("captured")));
    } else {
      read_step(place, fields);
    }
  }
  static std::string name(const Json::Value& value) {
    std::string found(value.text("a name"));
    if (found.empty()) fail(ErrorKind::kArgument, "a value must have a name");
    return found;
  }

  static void read_input(Place& place, const JsonFields& fields) {
    std::vector<Program::Dimension>& sizes = place.sizes;
    std::vector<Program::Dimension> dimensions;
    std::vector<size_t> numbers;  // which size each is
    for (const Json::Value& size : fields.at("shape").list("a shape")) {
      if (dimensions.size() == kMaxDims) {
        fail(ErrorKind::kArgument, "a shape must have at most ", kMaxDims, " dimensions");
      }
      numbers.push_back(sizes.size());
      if (!size.is(Json::Kind::kObject)) {
        dimensions.push_back({size.integer("a size", 0, INT64_MAX), {}});
        note_written(dimensions.back().size);
        continue;
      }
      const JsonFields unknown(size, "a size", {"size"});
      numbers.back() = static_cast<size_t>(
          unknown.at("size").integer("an unknown size", 0, static_cast<int64_t>(sizes.size()) - 1));
      dimensions.push_back(sizes[numbers.back()]);
    }
    const int number = place.program.add_input(name(fields.at("input")),
                                               read_dtype(fields.at("dtype")), dimensions);
    const Spec& spec = place.program.variables()[static_cast<size_t>(number)].spec;
    for (size_t i = 0; i < numbers.size(); ++i) {  // from here on it is that of this input
      if (numbers[i] < sizes.size()) sizes[numbers[i]] = {spec.shape[i], {}};
    }
  }

  void read_step(Place& place, const JsonFields& fields) {
    Program& program = place.program;
    Program::Step step;
    step.op = fields.has("holds")     ? held_.read_op(program, fields)
              : fields.has("foreign") ? foreign_op(fields.at("foreign"))
                                      : read_op(place, fields, step.exprs);
    const Json::Parts inputs = fields.at("inputs").list("inputs");
    if (inputs.size() > kMostArguments) {
      fail(ErrorKind::kArgument, "an op must have at most ", kMostArguments, " arguments");
    }
    for (const Json::Value& input : inputs) step.inputs.push_back(read_variable(program, input));
    if (fields.has("line")) step.place = fields.at("line").text("a line");
    const std::vector<int> found = program.append(std::move(step));
    auto output = fields.at("outputs").list("the results that the op has", found.size()).begin();
    for (int number : found) {
      auto part = (*output).list("a name and what it is", 2).begin();
      program.rename(number, name(*part));
      const std::string_view wanted = (*++part).text("what it is");
      if (program.describe(number) != wanted) {
        fail(ErrorKind::kArgument, "a result must be what was written: ", wanted.substr(0, 80),
             said::got(program.describe(number)));
      }
      ++output;
    }
  }

  Ref<const Op> foreign_op(const Json::Value& value) {
    const std::string_view said = value.text("an op as text");
    if (language_ != nullptr) return language_->op_of(said);
    fail(ErrorKind::kArgument, "ops must be those of the core, or declared",
         said::got("one that is written in Python: ", said.substr(0, 120)),
         said::fix("run it in Python, or declare the op"));
  }

  Ref<const Op> read_op(Place& place, const JsonFields& fields,
                        std::vector<std::pair<size_t, AttrExpr>>& exprs) {
    const OpClass& cls = find_class(fields);
    std::vector<std::pair<std::string, Attr>> attrs;
    Ref<RawTensor> array;
    const Json::Parts parts = fields.at("attrs").object("attributes");
    for (auto at = parts.begin(); at != parts.end(); ++at) {
      const std::string name((*at).text("a name"));
      ++at;
      const bool is_new = std::none_of(attrs.begin(), attrs.end(),
                                       [&](const auto& known) { return known.first == name; });
      if (!is_new || cls.attr_index(name) < 0) {
        fail(ErrorKind::kArgument, cls.name(), " must not have the attribute '", name,
             "', or twice");
      }
      const bool is_array = is_constant(cls) && name == "value" && (*at).is(Json::Kind::kObject) &&
                            is_array_form(*at);
      if (is_array) array = read_array(*at);
      attrs.emplace_back(name, is_array ? Attr() : read_attr(*at));
    }
    if (fields.has("sizes")) read_sizes(place, cls, fields.at("sizes"), attrs, exprs);
    if (is_constant(cls)) return make_constant(cls, attrs, std::move(array));
    return make_op(cls, std::move(attrs));
  }

  // Whether it is the class of constants, which hold a number or an array.
  static bool is_constant(const OpClass& cls) { return cls.name() == "Const"; }
  static bool is_array_form(const Json::Value& value) {
    const Json::Parts parts = value.object("a value");
    return parts.size() == 1 && (*parts.begin()).text("a key") == "array";
  }
  Ref<RawTensor> read_array(const Json::Value& value) {
    const JsonFields fields(value, "a constant", {"array"});
    return tensor(JsonFields(fields.at("array"), "an array", {"tensor", "dtype", "shape"}));
  }

  const OpClass& find_class(const JsonFields& fields) const {
    const std::string name(fields.at("op").text("the name of an op"));
    int64_t version = 1;
    if (fields.has("version")) version = fields.at("version").integer("a version", 1, 1000);
    for (const std::string& each : {name, text(name, "V", version)}) {
      const OpClass* cls = registry().find_op(each);
      if (cls == nullptr || cls->spec.version != version) continue;
      if (language_ != nullptr) language_->meet(*cls, name);
      return *cls;
    }
    fail(ErrorKind::kArgument, "the op ", name.substr(0, 60), " must be declared here",
         said::got("version ", version));
  }

  static Ref<const Op> make_constant(const OpClass& cls,
                                     const std::vector<std::pair<std::string, Attr>>& attrs,
                                     Ref<RawTensor> array) {
    Attr value, dtype, device;
    for (const auto& [name, attr] : attrs) {
      (name == "value" ? value : name == "dtype" ? dtype : device) = attr;
    }
    if (!array && !is_number(value)) {
      fail(ErrorKind::kArgument, "a constant must be a number or an array");
    }
    const Ref<ConstOp> made = array ? make_ref<ConstOp>(cls, std::move(array))
                                    : make_ref<ConstOp>(cls, literal_of(value));
    if (!std::holds_alternative<Nothing>(dtype)) {
      const auto* known = std::get_if<DType>(&dtype);
      if (known == nullptr) fail(ErrorKind::kArgument, "the dtype of a constant must be one");
      made->dtype = *known;
      made->attrs[1] = dtype;
    }
    if (!std::holds_alternative<Nothing>(device)) {
      if (!std::holds_alternative<std::string>(device)) {
        fail(ErrorKind::kArgument, "the device of a constant must be a name");
      }
      made->attrs[2] = device;
      results_device(*made, Device());
    }
    return made;
  }

  static void read_sizes(Place& place, const OpClass& cls, const Json::Value& value,
                         std::vector<std::pair<std::string, Attr>>& attrs,
                         std::vector<std::pair<size_t, AttrExpr>>& exprs) {
    const Json::Parts parts = value.object("sizes");
    for (auto at = parts.begin(); at != parts.end(); ++at) {
      const std::string name((*at).text("a name"));
      const auto attr = std::find_if(attrs.begin(), attrs.end(),
                                     [&](const auto& known) { return known.first == name; });
      const auto index = static_cast<size_t>(std::max(cls.attr_index(name), 0));
      const bool is_known = std::any_of(exprs.begin(), exprs.end(),
                                        [&](const auto& entry) { return entry.first == index; });
      if (attr == attrs.end() || is_known) {
        fail(ErrorKind::kArgument, "a size must be an attribute that was written, once");
      }
      AttrExpr expr = read_expression(place.program, *++at, true);
      Attr found = evaluate(expr, place.known_specs());
      if (std::holds_alternative<double>(attr->second)) {
        const auto* whole = std::get_if<int64_t>(&found);
        if (whole != nullptr) found = static_cast<double>(*whole);
        const bool is_number = std::holds_alternative<double>(found);
        if (!is_number) fail(ErrorKind::kArgument, "a number must not be a list of sizes");
      }
      attr->second = std::move(found);
      exprs.emplace_back(index, std::move(expr));
    }
  }

  ProgramFile& file_;
  Language* const language_;
  const Json structure_;
  TensorsInFile tensors_;
  const size_t bytes_;
  HeldPrograms held_;
  bool has_sources_ = false;
};

[[noreturn]] void refuse(const std::string& why) {
  fail(ErrorKind::kArgument, said::op("load"), "the bytes must be a program that can be read here",
       said::got(why));
}

}  // namespace

void refuse_program(std::string why) {
  if (why.ends_with('.')) why.pop_back();
  refuse("one of which this is said: " + why.substr(0, 500));
}

void read_program(std::string_view bytes, ProgramFile& file, Language* language) try {
  FileReader(file, language, read_sections(bytes)).read();
} catch (const Error& error) {
  refuse_program(error.what());
} catch (const std::bad_alloc&) {
  refuse("one for which there is no memory");
} catch (const std::length_error&) {
  refuse("one for which there is no memory");
} catch (const std::bad_variant_access&) {
  refuse("one with an attribute of another type than its op takes");
}

}  // namespace tensorlike
