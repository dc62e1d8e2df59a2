// What may be written about an op beside its parameters: config={name, device, dtype}.
#pragma once

#include <string>

#include "op/op.h"

namespace tensorlike::bind {

// What a key of it takes; ErrorKind::kAttribute where there is none of that name.
AttrSpec config_spec(const OpClass& cls, const std::string& key);

}  // namespace tensorlike::bind
