// The values of attributes as JSON.
#include <bit>
#include <cmath>

#include "op/declaration_text.h"

namespace tensorlike {

DType read_dtype(const Json::Value& value) {
  const std::string_view name = value.text("a dtype");
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  fail(ErrorKind::kArgument, "a dtype must be one of ours",
       said::got("'", name.substr(0, 40), "'"));
}

void write_attr(JsonText& out, const Attr& attr) {
  struct Writer {
    JsonText& out;
    void operator()(Nothing) const { out.null(); }
    void operator()(bool value) const { out.flag(value); }
    void operator()(int64_t value) const { out.integer(value); }
    void operator()(uint64_t value) const { out.wide(value); }
    void operator()(double value) const {
      if (std::isfinite(value)) {
        out.number(value);
      } else {
        out.object().key("bits").wide(std::bit_cast<uint64_t>(value)).end();
      }
    }
    void operator()(const std::string& value) const { out.text(value); }
    void operator()(const std::vector<int64_t>& values) const {
      out.list();
      for (int64_t value : values) out.integer(value);
      out.end();
    }
    void operator()(DType value) const { out.object().key("dtype").text(name_of(value)).end(); }
    void operator()(std::complex<double> value) const {
      out.object().key("complex").list();
      (*this)(value.real());
      (*this)(value.imag());
      out.end().end();
    }
  };
  std::visit(Writer{out}, attr);
}

static double read_double(const Json::Value& value) {
  if (!value.is(Json::Kind::kObject)) return value.number("a number");
  const JsonFields fields(value, "a number", {"bits"});
  return std::bit_cast<double>(fields.at("bits").wide("the bits of a number"));
}

static Attr read_object(const Json::Value& value) {
  const JsonFields fields(value, "an attribute", {"bits", "dtype", "complex"});
  if (fields.has("bits")) return std::bit_cast<double>(fields.at("bits").wide("bits"));
  if (fields.has("dtype")) {
    return read_dtype(fields.at("dtype"));
  }
  auto part = fields.at("complex").list("two numbers", 2).begin();
  const double real = read_double(*part);
  return std::complex<double>(real, read_double(*++part));
}

Attr read_attr(const Json::Value& value) {
  switch (value.kind()) {
    case Json::Kind::kNull:
      return Attr();
    case Json::Kind::kBool:
      return value.flag("a flag");
    case Json::Kind::kInteger:
      return value.integer("an integer");
    case Json::Kind::kUnsigned:
      return value.wide("an integer");
    case Json::Kind::kFloat:
      return value.number("a number");
    case Json::Kind::kText:
      return std::string(value.text("a text"));
    case Json::Kind::kList: {
      std::vector<int64_t> integers;
      for (const Json::Value& part : value.list("integers")) {
        integers.push_back(part.integer("an integer"));
      }
      return integers;
    }
    case Json::Kind::kObject:
      break;
  }
  return read_object(value);
}

}  // namespace tensorlike
