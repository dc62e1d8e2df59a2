// Programs as bytes for Python, and what Python adds: the texts of declarations, and ops that are
// classes of its own.
#include "bind/programs.h"
#include "program/file.h"

namespace tensorlike::bind {
namespace {

PyObject* from_string(const std::string& text) {
  return checked(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

// Runs what calls Python; an exception is said as an error of the core, but for those that end more
// than a call.
template <class F>
auto said_by_python(F&& f) {
  try {
    return f();
  } catch (const PythonError&) {
    if (PyErr_ExceptionMatches(PyExc_Exception) == 0) throw;
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    const Object kept_type = Object::steal(type), kept = Object::steal(value),
                 kept_trace = Object::steal(trace);
    Object words = Object::steal(PyObject_Str(kept.get()));
    PyErr_Clear();
    std::string text = words ? shown(words.get()) : std::string();
    if (text.empty()) text = Py_TYPE(kept.get())->tp_name;
    fail(ErrorKind::kArgument, text);
  }
}

// The module imperative/program_file.py.
class Python final : public Language {
 public:
  explicit Python(PyObject* module) : module_(module) {}

  std::vector<Source> sources_of(const std::set<std::string>& names) override {
    Object list = own(PyList_New(0));
    for (const std::string& name : names) {
      check(PyList_Append(list.get(), own(from_string(name)).get()));
    }
    Object found = call("sources_of", list.get());
    std::vector<Source> sources;
    Object outer = own(PySequence_Tuple(found.get()));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outer.get()); ++i) {
      Object inner = own(PySequence_Tuple(PyTuple_GET_ITEM(outer.get(), i)));
      Source& source = sources.emplace_back();
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(inner.get()); ++k) {
        source.push_back(shown(PyTuple_GET_ITEM(inner.get(), k)));
      }
    }
    return sources;
  }

  void restore(const std::vector<Source>& sources) override {
    said_by_python([&] {
      Object list = own(PyList_New(0));
      for (const Source& source : sources) {
        Object texts = own(PyList_New(0));
        for (const std::string& text : source) {
          check(PyList_Append(texts.get(), own(from_string(text)).get()));
        }
        check(PyList_Append(list.get(), texts.get()));
      }
      call("restore", list.get());
    });
  }

  void meet(const OpClass& cls, const std::string& name) override {
    said_by_python([&] {
      if (python_class(cls) != nullptr) return;
      call("meet",
           own(Py_BuildValue("(NNi)", from_string(cls.name()), from_string(name), cls.spec.version))
               .get());
    });
  }

  std::string text_of(const Op& op) override {
    return shown(call("text_of", own(from_op(op)).get()).get());
  }

  Ref<const Op> op_of(std::string_view text) override {
    return said_by_python([&] {
      Object found = call("op_of", own(from_string(std::string(text))).get());
      return Ref<const Op>(to_op(found.get()).get());
    });
  }

  Ref<Program> add_part(Program& whole, const std::string& name) override {
    return said_by_python([&] {
      auto* listing = static_cast<PyObject*>(whole.handle);
      Object part = own(PyObject_CallMethod(listing, "new_part", "N", from_string(name)));
      return Ref<Program>(&to_program(part.get()));
    });
  }

 private:
  Object call(const char* name, PyObject* argument) {
    return own(PyObject_CallMethod(module_, name, "(O)", argument));
  }

  PyObject* module_;
};

NamedTensors to_weights(PyObject* mapping) {
  NamedTensors weights;
  if (mapping == Py_None) return weights;
  Object items = own(PyMapping_Items(mapping));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyList_GET_ITEM(items.get(), i);
    weights[shown(PyTuple_GET_ITEM(item, 0))] = as_raw(PyTuple_GET_ITEM(item, 1), Py_None);
  }
  return weights;
}

}  // namespace

// write_file(results, weights, language) -> bytes
PyObject* write_file(PyObject* self, PyObject* args) {
  PyObject *results = nullptr, *weights = nullptr, *language = nullptr;
  if (PyArg_ParseTuple(args, "O!OO", &PyDict_Type, &results, &weights, &language) == 0) {
    return nullptr;
  }
  return guarded([&] {
    ProgramFile file{Ref<Program>(&program_in(self)), {}, to_weights(weights)};
    PyObject *name = nullptr, *number = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(results, &at, &name, &number) != 0;) {
      file.results.emplace_back(shown(name), to_variable(*file.program, number));
    }
    Python python(language);
    const std::string bytes = write_program(file, &python);
    return checked(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
  });
}

// read_file(bytes, language) -> ({name: result}, {name: weight})
PyObject* read_file(PyObject* self, PyObject* args) {
  Py_buffer bytes;
  PyObject* language = nullptr;
  if (PyArg_ParseTuple(args, "y*O", &bytes, &language) == 0) return nullptr;
  PyObject* made = guarded([&] {
    ProgramFile file{Ref<Program>(&program_in(self))};
    Python python(language);
    try {
      said_by_python([&] {
        read_program({static_cast<const char*>(bytes.buf), static_cast<size_t>(bytes.len)}, file,
                     &python);
      });
    } catch (const Error& error) {
      if (error.fields().op == "load") throw;
      refuse_program(error.what());
    }
    Object results = own(PyDict_New());
    for (const auto& [name, number] : file.results) {
      check(PyDict_SetItem(results.get(), own(from_string(name)).get(),
                           own(PyLong_FromLong(number)).get()));
    }
    Object weights = own(PyDict_New());
    for (const auto& [name, tensor] : file.weights) {
      check(PyDict_SetItem(weights.get(), own(from_string(name)).get(),
                           own(from_value(tensor)).get()));
    }
    return checked(Py_BuildValue("(OO)", results.get(), weights.get()));
  });
  PyBuffer_Release(&bytes);
  return made;
}

}  // namespace tensorlike::bind
