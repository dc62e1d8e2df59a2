#include "bind/config.h"

#include <algorithm>
#include <string_view>

#include "op/registry.h"

namespace tensorlike::bind {

AttrSpec config_spec(const OpClass& cls, PyObject* key) {
  static constexpr std::string_view kKeys[] = {"name", "device", "dtype"};
  const Object shown = own(PyObject_ASCII(key));
  const char* text = PyUnicode_Check(key) != 0 ? PyUnicode_AsUTF8(key) : nullptr;
  PyErr_Clear();  // text that UTF-8 cannot hold is no key either
  const std::string_view name = text == nullptr ? "" : text;
  if (std::find(std::begin(kKeys), std::end(kKeys), name) == std::end(kKeys)) {
    fail(ErrorKind::kAttribute, cls.name(),
         ": config: the keys must be name, device or dtype; got ", PyUnicode_AsUTF8(shown.get()),
         did_you_mean(name, kKeys), ".");
  }
  return {std::string(name), name == "dtype" ? "dtype" : "str", true, {}};
}

}  // namespace tensorlike::bind
