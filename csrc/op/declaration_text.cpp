#include "op/declaration_text.h"

#include <algorithm>
#include <bit>

#include "base/small_vector.h"
#include "op/declaration_fields.h"

namespace tensorlike {
namespace {

constexpr size_t kMostKeys = 32;

class Out {
 public:
  explicit Out(JsonText& text) : text_(text) {}

  template <class... T>
  void local(const T&...) {}

  template <class T>
  void operator()(const char* key, const T& value, const T& usual = {}) {
    if (is_usual(value, usual)) return;
    text_.key(key);
    write(value);
  }

  void write(bool value) { text_.flag(value); }
  void write(int value) { text_.integer(value); }
  void write(const std::string& value) { text_.text(value); }
  template <class T>
  void write(const Late<T>& value) {
    write(*value);
  }
  void write(const AttrType* value) { text_.text(value == nullptr ? "" : value->name); }
  void write(const Attr& value) { write_attr(text_, value); }
  void write(const Literal& value) {
    write_attr(text_, std::visit([](auto number) { return Attr(number); }, value));
  }
  void write(DType value) { text_.text(name_of(value)); }
  void write(Named auto value) { text_.text(kNames<decltype(value)>[static_cast<size_t>(value)]); }
  template <class T>
  void write(const std::optional<T>& value) {
    write(*value);
  }
  template <class T>
  void write(const std::vector<T>& values) {
    text_.list();
    for (const T& value : values) write(value);
    text_.end();
  }
  template <class T>
  void write(const std::pair<std::string, T>& pair) {
    text_.list();
    write(pair.first);
    write(pair.second);
    text_.end();
  }
  template <class T>
    requires std::is_class_v<T>
  void write(const T& value) {
    text_.object();
    fields(*this, value);
    text_.end();
  }

 private:
  template <class T>
  static bool is_usual(const T& value, const T& usual) {
    if constexpr (requires { value.get(); }) {
      return is_usual(*value, *usual);
    } else if constexpr (requires { value.empty(); }) {
      return value.empty();
    } else if constexpr (requires { value == usual; }) {
      return value == usual;
    } else {
      JsonText own, other;
      Out(own).write(value);
      Out(other).write(usual);
      return own.take() == other.take();
    }
  }

  JsonText& text_;
};

class In {
 public:
  // `is_own`: what is read is of this process, and no file. `line`: the text of the declaration,
  // where that stays, so that its bodies are read when somebody asks.
  In(const Json::Value& object, bool is_own, std::string_view line = {})
      : is_own_(is_own), line_(line) {
    const Json::Parts parts = object.object("a part of a declaration");
    if (parts.size() > kMostKeys) {
      fail(ErrorKind::kArgument, "a part of a declaration must have at most ", kMostKeys, " keys");
    }
    const auto end = parts.end();
    for (auto at = parts.begin(); at != end; ++at) {
      const std::string_view key = (*at).text("a key");
      found_.push_back({key, *++at});
    }
    unread_ = (uint64_t{1} << found_.size()) - 1;
  }

  template <class T>
  void operator()(const char* key, T& value, const T& = {}) {
    if (const Json::Value* found = take(key)) read(*found, value, is_own_);
  }
  template <class T>
  void operator()(const char* key, Late<T>& value) {
    const Json::Value* found = take(key);
    if (found == nullptr) return;
    if (line_.empty()) {
      value = Late<T>(read_as<T>(*found, is_own_));
    } else {
      value = Late<T>([line = line_, key] { return read_field<T>(line, key); });
    }
  }
  template <class T>
  void local(const char* key, T& value) {
    if (is_own_) (*this)(key, value);
  }
  // The value of a key, once; null where there is none.
  const Json::Value* take(std::string_view key) {
    for (size_t i = 0; i < found_.size(); ++i) {
      if ((unread_ >> i & 1) == 0 || found_[i].key != key) continue;
      unread_ ^= uint64_t{1} << i;
      return &found_[i].value;
    }
    return nullptr;
  }
  void finish() const {
    if (unread_ == 0) return;
    fail(ErrorKind::kArgument, "a part of a declaration must not have the key '",
         found_[static_cast<size_t>(std::countr_zero(unread_))].key, "', or twice");
  }

  template <class T>
  static T read_as(const Json::Value& from, bool is_own) {
    T value;
    read(from, value, is_own);
    return value;
  }
  // A part of the one declaration in a built-in line: {"kind": {"key": part}}.
  template <class T>
  static T read_field(std::string_view line, const char* key) {
    const Json json = Json::parse(line);
    auto parts = json.root().object("a declaration").begin();
    return read_as<T>(*In(*++parts, true).take(key), true);
  }

  template <class T>
  static void read(const Json::Value& from, T& value, bool is_own) {
    if constexpr (std::same_as<T, bool>) {
      value = from.flag("true or false");
    } else if constexpr (std::same_as<T, int>) {
      value = static_cast<int>(from.integer("a small number", INT32_MIN, INT32_MAX));
    } else if constexpr (std::same_as<T, uint32_t>) {
      value = static_cast<uint32_t>(from.integer("a set of bits", 0, UINT32_MAX));
    } else if constexpr (std::same_as<T, std::string>) {
      value = from.text("a text");
    } else if constexpr (std::same_as<T, const AttrType*>) {
      value = attr_type(from.text("the type of an attribute"));
    } else if constexpr (std::same_as<T, Attr>) {
      value = read_attr(from);
    } else if constexpr (std::same_as<T, Literal>) {
      const Attr number = read_attr(from);
      if (!is_number(number)) fail(ErrorKind::kArgument, "a constant must be a number");
      value = literal_of(number);
    } else if constexpr (std::same_as<T, DType>) {
      value = read_dtype(from);
    } else if constexpr (std::is_enum_v<T>) {
      value = read_name<T>(from.text("a word"));
    } else {
      read_whole(from, value, is_own);
    }
  }

 private:
  template <class T>
  static T read_name(std::string_view name) {
    const auto found = std::find(std::begin(kNames<T>), std::end(kNames<T>), name);
    if (found != std::end(kNames<T>)) return static_cast<T>(found - std::begin(kNames<T>));
    fail(ErrorKind::kArgument, "a word must be one that declarations have",
         said::got("'", name.substr(0, 40), "'"));
  }
  template <class T>
  static void read_whole(const Json::Value& from, std::optional<T>& value, bool is_own) {
    read(from, value.emplace(), is_own);
  }
  template <class T>
  static void read_whole(const Json::Value& from, std::vector<T>& values, bool is_own) {
    const Json::Parts parts = from.list("a list");
    values.reserve(parts.size());
    for (const Json::Value& part : parts) read(part, values.emplace_back(), is_own);
  }
  template <class T>
  static void read_whole(const Json::Value& from, std::pair<std::string, T>& pair, bool is_own) {
    auto part = from.list("a name and a value", 2).begin();
    read(*part, pair.first, is_own);
    read(*++part, pair.second, is_own);
  }
  template <class T>
  static void read_whole(const Json::Value& from, T& value, bool is_own) {
    In in(from, is_own);
    fields(in, value);
    in.finish();
  }

  struct Entry {
    std::string_view key;
    Json::Value value;
  };

  bool is_own_;
  std::string_view line_;
  SmallVector<Entry, 12> found_;
  uint64_t unread_ = 0;  // bits: which of those
};

constexpr std::string_view kKinds[] = {"scalar", "reduction", "op", "function"};

template <class T>
void write_declared(JsonText& out, size_t kind, const T& spec) {
  out.object().key(kKinds[kind]);
  Out(out).write(spec);
  out.end();
}

AnySpec read_declared(const Json::Value& value, bool is_own, std::string_view line) {
  const JsonFields kinds(value, "a declaration", {kKinds[0], kKinds[1], kKinds[2], kKinds[3]});
  const auto made = [&](auto spec, const char* kind) -> AnySpec {
    In in(kinds.at(kind), is_own, line);
    fields(in, spec);
    in.finish();
    return spec;
  };
  if (kinds.has("scalar")) return made(ScalarSpec(), "scalar");
  if (kinds.has("reduction")) return made(ReductionSpec(), "reduction");
  if (kinds.has("op")) return made(OpSpec(), "op");
  return made(FunctionSpec(), "function");
}

}  // namespace

void write_declaration(JsonText& out, const Registry::Entry& entry) {
  std::visit([&](const auto* each) { write_declared(out, entry.index(), each->spec); }, entry);
}

void write_declaration(JsonText& out, const AnySpec& spec) {
  std::visit([&](const auto& each) { write_declared(out, spec.index(), each); }, spec);
}

AnySpec read_declaration(const Json::Value& value, From from) {
  return read_declared(value, from == From::kProcess, {});
}

AnySpec read_built_in(std::string_view text) {
  return read_declared(Json::parse(text).root(), true, text);
}

IdentitySpec read_identity(std::string_view text) {
  const Json json = Json::parse(text);
  auto parts = json.root().object("a declaration").begin();
  return In::read_as<IdentitySpec>(*++parts, true);
}

const std::string& name_of(const AnySpec& spec) {
  return std::visit([](const auto& each) -> const std::string& { return each.name; }, spec);
}

}  // namespace tensorlike
