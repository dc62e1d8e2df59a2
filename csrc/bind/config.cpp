#include "bind/config.h"

#include <algorithm>
#include <string_view>

#include "op/registry.h"

namespace tensorlike::bind {

AttrSpec config_spec(const OpClass& cls, const std::string& key) {
  static constexpr std::string_view kKeys[] = {"name", "device", "dtype"};
  if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys)) {
    fail(ErrorKind::kAttribute, said::op(cls.name()),
         "config: the keys must be name, device or dtype",
         said::got("'", key, "'", did_you_mean(key, kKeys)));
  }
  return {key, attr_type(key == "dtype" ? "dtype" : "str"), true, {}};
}

}  // namespace tensorlike::bind
