// The values of attributes, and the types that they are declared to have.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"

namespace tensorlike {

// Python's None. It has a copy constructor, unlike std::monostate, because a variant of which all
// alternatives are trivial, vectors or strings crashes in libstdc++ 12 where a copy finds no
// memory: such a variant is thought never to be without a value.
struct Nothing {
  Nothing() = default;
  Nothing(const Nothing&) noexcept {}
  Nothing& operator=(const Nothing&) noexcept { return *this; }
  bool operator==(const Nothing&) const { return true; }
};

// The value of an op's attribute. `uint64_t` is an integer beyond int64.
using Attr = std::variant<Nothing, bool, int64_t, double, std::string, std::vector<int64_t>, DType,
                          std::complex<double>, uint64_t>;

inline bool is_number(const Attr& attr) {
  return std::holds_alternative<bool>(attr) || std::holds_alternative<int64_t>(attr) ||
         std::holds_alternative<double>(attr) || std::holds_alternative<uint64_t>(attr) ||
         std::holds_alternative<std::complex<double>>(attr);
}

// A number among attributes as a literal.
inline Literal literal_of(const Attr& attr) {
  if (const auto* value = std::get_if<bool>(&attr)) return *value;
  if (const auto* value = std::get_if<int64_t>(&attr)) return *value;
  if (const auto* value = std::get_if<double>(&attr)) return *value;
  if (const auto* value = std::get_if<uint64_t>(&attr)) return *value;
  return std::get<std::complex<double>>(attr);
}

// What a value may be: the alternatives of Attr, in their order; pairs of integers come as a list.
enum class Form : uint8_t {
  kNone,
  kBool,
  kInt,
  kFloat,
  kStr,
  kInts,
  kDType,
  kComplex,
  kWide,
  kPairs
};
static_assert(std::variant_size_v<Attr> == static_cast<size_t>(Form::kPairs));

inline Form form_of(const Attr& attr) { return static_cast<Form>(attr.index()); }

class Forms {
 public:
  constexpr Forms(std::initializer_list<Form> forms) {
    for (const Form form : forms) bits_ |= bit(form);
  }
  constexpr bool has(Form form) const { return (bits_ & bit(form)) != 0; }
  constexpr bool operator==(const Forms&) const = default;

 private:
  static constexpr uint32_t bit(Form form) { return 1U << static_cast<uint32_t>(form); }
  uint32_t bits_ = 0;
};

// A type of attributes: a row of opdecl/compiler/attr_types.py, which says what each column means.
struct AttrType {
  std::string_view name;
  std::string_view called;  // by errors
  std::string_view wanted;  // what a call must give, in words
  Forms holds;
  Forms takes;
  std::string_view follows = "";
  std::vector<int64_t> front = {};
  std::vector<Attr> examples = {};

  // Makes a value one of this type, if it is one or stands for one: an integer for a number with a
  // fraction, or for the list of it alone; a name for a dtype. False: it is none.
  bool take(Attr& value) const;
};

std::optional<DType> dtype_named(std::string_view name);

// The row of this name, for as long as the process lives; ErrorKind::kDeclaration for no type.
const AttrType* attr_type(std::string_view name);
std::span<const AttrType> attr_types();

}  // namespace tensorlike
