#include "op/tile_program.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "base/conversion.h"
#include "memory/backend.h"
#include "op/registry.h"

namespace tensorlike {
namespace {

// A value while a program is being written. Operands, constants and temporaries are numbered apart:
// a slot in the final order is only known when all have been counted.
struct Symbol {
  enum class Place : uint8_t { kOperand, kConstant, kTemporary };
  Place place = Place::kOperand;
  int index = 0;
  DType dtype = DType::kFloat32;
  bool is_literal = false;
  Literal literal = {};
};

// The bytes of one element.
struct Number {
  alignas(16) char bytes[16] = {};
};

DType widest_of(DType dtype) {
  if (dtype == DType::kFloat32) return DType::kFloat64;
  return dtype == DType::kComplex64 ? DType::kComplex128 : dtype;
}

void write_number(Number& number, const Literal& value, DType dtype) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T converted = literal_as<T>(value);
    std::memcpy(number.bytes, &converted, sizeof(T));
  });
}

std::optional<Literal> read_number(const Number& number, DType dtype) {
  auto read = [&](auto value) {
    std::memcpy(&value, number.bytes, sizeof(value));
    return Literal(value);
  };
  if (dtype == DType::kBool) return read(false);
  if (dtype == DType::kInt64) return read(int64_t{0});
  if (dtype == DType::kUInt64) return read(uint64_t{0});
  if (dtype == DType::kFloat64) return read(0.0);
  if (dtype == DType::kComplex128) return read(std::complex<double>());
  return std::nullopt;
}

class Writer {
 public:
  explicit Writer(std::span<const DType> args) {
    for (size_t i = 0; i < args.size(); ++i) {
      operands_.push_back({Symbol::Place::kOperand, static_cast<int>(i), args[i], false, {}});
      widest_ = std::max(widest_, size_of(args[i]));
    }
  }

  const std::vector<Symbol>& operands() const { return operands_; }

  // Applies a scalar function to symbols: one instruction, or its expansion.
  std::vector<Symbol> call(const Scalar& scalar, std::vector<Symbol> args) {
    const auto is_literal = [](const Symbol& arg) { return arg.is_literal; };
    if (std::all_of(args.begin(), args.end(), is_literal)) {
      SmallVector<Literal, 4> numbers;
      for (const Symbol& arg : args) numbers.push_back(arg.literal);
      if (const auto number = fold(scalar, {numbers.data(), numbers.size()})) {
        return {{Symbol::Place::kConstant, -1, DType::kFloat32, true, *number}};
      }
    }
    const DType promoted = scalar.compute_dtype(literal_dtypes(scalar, args));
    // Loops over halves would round the numbers of formulas.
    const bool rounds =
        kind_of(promoted) == Kind::kFloating && std::any_of(args.begin(), args.end(), is_literal);
    const DType loop = scalar.is_compiled[promoted] && !rounds ? promoted : compute_of(promoted);
    const bool is_expanded = !scalar.is_compiled[loop];
    if (is_expanded && !scalar.expansion) {
      fail(ErrorKind::kDType, said::op(scalar.spec.name), "there is no kernel for ",
           name_of(promoted), ".");
    }
    // Halves are rounded once, at the end; small integers wrap around at every step.
    const bool wraps = kind_of(promoted) == Kind::kInteger;
    const DType inside = is_expanded && wraps ? promoted : loop;
    for (size_t i = 0; i < args.size(); ++i) {
      const bool is_condition = scalar.spec.args[i].category == Category::kBoolean;
      args[i] = as_dtype(args[i], is_condition ? DType::kBool : inside);
    }
    std::vector<Symbol> results =
        is_expanded
            ? expand(*scalar.expansion, args)
            : emit({&scalar, loop, loop}, args, scalar.spec.outputs, scalar.result_dtype(loop));
    for (Symbol& result : results) result = as_dtype(result, scalar.result_dtype(promoted));
    return results;
  }

  // Applies the steps of a body, which are scalar functions, to symbols.
  std::vector<Symbol> expand(const CompiledBody& body, const std::vector<Symbol>& args) {
    std::vector<Symbol> slots(args);
    for (const auto& value : body.constants) {
      slots.push_back({Symbol::Place::kConstant, -1, DType::kFloat32, true, value});
    }
    for (const CompiledStep& step : body.steps) {
      std::vector<Symbol> in;
      for (int slot : step.args) in.push_back(slots[static_cast<size_t>(slot)]);
      slots.push_back(call(*step.op->scalar, std::move(in))[0]);
    }
    std::vector<Symbol> results;
    for (int slot : body.results) results.push_back(slots[static_cast<size_t>(slot)]);
    return results;
  }

  Symbol as_dtype(Symbol symbol, DType dtype) {
    if (symbol.is_literal) return constant(symbol, dtype);
    if (symbol.dtype == dtype) return symbol;
    const auto steps = conversion_steps(symbol.dtype, dtype);
    if (steps.empty()) {
      fail(ErrorKind::kDType, said::op("astype"), "a ", name_of(symbol.dtype), " has no ",
           name_of(dtype), " value; take one of its parts: real(x), imag(x), abs(x).");
    }
    for (const DType step : steps) {
      symbol = emit({nullptr, symbol.dtype, step}, {symbol}, 1, step)[0];
    }
    return symbol;
  }

  PreparedProgram finish(const std::vector<Symbol>& results);

 private:
  struct Instruction {
    TileMeaning meaning;
    std::vector<Symbol> in;
    std::vector<int> out;  // temporaries
  };

  // Literals take the dtype of the tensors beside them, unless their own category is higher.
  static SmallVector<DType, 4> literal_dtypes(const Scalar& scalar,
                                              const std::vector<Symbol>& args) {
    bool any = false;
    DType promoted = DType::kBool;
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].is_literal || scalar.spec.args[i].category == Category::kBoolean) continue;
      promoted = any ? promote(promoted, args[i].dtype) : args[i].dtype;
      any = true;
    }
    SmallVector<DType, 4> dtypes;
    for (const Symbol& arg : args) {
      if (!arg.is_literal) {
        dtypes.push_back(arg.dtype);
        continue;
      }
      const Kind kind = kind_of(arg.literal);
      dtypes.push_back(any ? literal_dtype(kind, promoted) : default_dtype(kind));
    }
    return dtypes;
  }

  Symbol constant(const Symbol& literal, DType dtype) {
    Number number;
    write_number(number, literal.literal, dtype);
    TileProgram::Constant value{dtype, {}};
    std::memcpy(value.value, number.bytes, sizeof(value.value));
    for (size_t i = 0; i < constants_.size(); ++i) {
      if (constants_[i].dtype == dtype &&
          std::memcmp(constants_[i].value, value.value, sizeof(value.value)) == 0) {
        return {Symbol::Place::kConstant, static_cast<int>(i), dtype, false, {}};
      }
    }
    constants_.push_back(value);
    return {Symbol::Place::kConstant, static_cast<int>(constants_.size()) - 1, dtype, false, {}};
  }

  // One instruction; the results of an equal one that is there already.
  std::vector<Symbol> emit(const TileMeaning& meaning, std::vector<Symbol> in, int outputs,
                           DType dtype) {
    std::vector<Symbol> results;
    for (const Instruction& known : instructions_) {
      if (!(known.meaning == meaning) ||
          !std::equal(in.begin(), in.end(), known.in.begin(), known.in.end(), is_same_place)) {
        continue;
      }
      for (int t : known.out) results.push_back({Symbol::Place::kTemporary, t, dtype, false, {}});
      return results;
    }
    Instruction instruction{meaning, std::move(in), {}};
    widest_ = std::max(widest_, size_of(dtype));
    for (int i = 0; i < outputs; ++i) {
      instruction.out.push_back(temporaries_);
      results.push_back({Symbol::Place::kTemporary, temporaries_++, dtype, false, {}});
    }
    instructions_.push_back(std::move(instruction));
    return results;
  }

  static bool is_same_place(const Symbol& a, const Symbol& b) {
    return a.place == b.place && a.index == b.index;
  }

  // A copy of a value for an output, not shared with any other.
  Symbol append_copy(const Symbol& symbol) {
    widest_ = std::max(widest_, size_of(symbol.dtype));
    instructions_.push_back({{nullptr, symbol.dtype, symbol.dtype}, {symbol}, {temporaries_}});
    return {Symbol::Place::kTemporary, temporaries_++, symbol.dtype, false, {}};
  }

  std::vector<Symbol> operands_;
  size_t widest_ = 1;
  std::vector<TileProgram::Constant> constants_;
  std::vector<Instruction> instructions_;
  int temporaries_ = 0;
};

// Turns temporaries into slots: results live in the outputs, the others share buffers once their
// last reader has run.
PreparedProgram Writer::finish(const std::vector<Symbol>& results) {
  PreparedProgram prepared;
  TileProgram& program = prepared.program;
  program.operands = static_cast<int>(operands_.size());
  program.outputs = static_cast<int>(results.size());

  std::vector<int> output_of(static_cast<size_t>(temporaries_), -1);
  for (size_t r = 0; r < results.size(); ++r) {
    Symbol symbol = results[r];
    if (symbol.is_literal) symbol = constant(symbol, default_dtype(kind_of(symbol.literal)));
    const bool is_free = symbol.place == Symbol::Place::kTemporary &&
                         output_of[static_cast<size_t>(symbol.index)] < 0;
    if (!is_free) {
      // An operand, a constant, or a value that is already another output: copy it.
      symbol = append_copy(symbol);
      output_of.push_back(-1);
    }
    output_of[static_cast<size_t>(symbol.index)] = static_cast<int>(r);
    prepared.results.push_back(symbol.dtype);
  }
  program.constants = constants_;
  program.widest = widest_;

  std::vector<size_t> last_read(static_cast<size_t>(temporaries_), 0);
  for (size_t i = 0; i < instructions_.size(); ++i) {
    for (const Symbol& in : instructions_[i].in) {
      if (in.place == Symbol::Place::kTemporary) last_read[static_cast<size_t>(in.index)] = i;
    }
  }
  std::vector<int> buffer_of(static_cast<size_t>(temporaries_), -1);
  std::vector<int> free_buffers;
  std::vector<std::pair<size_t, int>> patches;
  for (size_t i = 0; i < instructions_.size(); ++i) {
    for (int t : instructions_[i].out) {
      if (output_of[static_cast<size_t>(t)] >= 0) continue;
      if (free_buffers.empty()) free_buffers.push_back(program.temporaries++);
      buffer_of[static_cast<size_t>(t)] = free_buffers.back();
      free_buffers.pop_back();
    }
    for (size_t t = 0; t < buffer_of.size(); ++t) {
      if (buffer_of[t] >= 0 && last_read[t] == i) free_buffers.push_back(buffer_of[t]);
    }
  }
  auto slot_of = [&](const Symbol& symbol) {
    switch (symbol.place) {
      case Symbol::Place::kOperand:
        return symbol.index;
      case Symbol::Place::kConstant:
        return program.first_constant() + symbol.index;
      case Symbol::Place::kTemporary:
        break;
    }
    const size_t t = static_cast<size_t>(symbol.index);
    return output_of[t] >= 0 ? program.first_output() + output_of[t]
                             : program.first_temporary() + buffer_of[t];
  };
  for (const Instruction& instruction : instructions_) {
    TileInstruction& written = program.instructions.emplace_back();
    written.meaning = instruction.meaning;
    for (const Symbol& in : instruction.in) written.in.push_back(slot_of(in));
    for (int t : instruction.out) {
      written.out.push_back(slot_of({Symbol::Place::kTemporary, t, DType::kFloat32, false, {}}));
    }
  }
  return prepared;
}

}  // namespace

TileProgramCache::~TileProgramCache() {
  const Node* node = head.load();
  while (node != nullptr) {
    const Node* next = node->next;
    delete node;
    node = next;
  }
}

const PreparedProgram& prepare_cast(DType from, DType to) {
  static std::atomic<const PreparedProgram*> cache[kDTypeCount][kDTypeCount] = {};
  auto& place = cache[static_cast<int>(from)][static_cast<int>(to)];
  if (const PreparedProgram* known = place.load(std::memory_order_acquire)) return *known;
  Writer writer({&from, 1});
  const auto* made =
      new PreparedProgram(writer.finish({writer.as_dtype(writer.operands()[0], to)}));
  const PreparedProgram* expected = nullptr;
  if (place.compare_exchange_strong(expected, made)) return *made;
  delete made;
  return *expected;
}

std::optional<DType> conversion_of(const Op& op) {
  if (!op.cls.is_declared || op.cls.spec.name != "Cast") return std::nullopt;
  return op.get<DType>("dtype");
}

PreparedProgram prepare_chain(std::span<const DType> operands, std::span<const ChainStep> steps,
                              std::span<const int> results, std::span<const DType> converted) {
  Writer writer(operands);
  std::vector<Symbol> slots(writer.operands());
  for (const ChainStep& step : steps) {
    std::vector<Symbol> args;
    for (int slot : step.args) args.push_back(slots[static_cast<size_t>(slot)]);
    if (step.scalar == nullptr) {
      slots.push_back(writer.as_dtype(args[0], step.to));
      continue;
    }
    for (const Symbol& result : writer.call(*step.scalar, std::move(args))) slots.push_back(result);
  }
  std::vector<Symbol> wanted;
  for (size_t i = 0; i < results.size(); ++i) {
    const Symbol& result = slots[static_cast<size_t>(results[i])];
    wanted.push_back(converted.empty() ? result : writer.as_dtype(result, converted[i]));
  }
  return writer.finish(wanted);
}

bool may_write_over(const TileProgram& program, int operand, int output) {
  const int written = program.first_output() + output;
  bool is_written = false;
  for (const TileInstruction& instruction : program.instructions) {
    for (int slot : instruction.in) {
      if (is_written && slot == operand) return false;
    }
    for (int slot : instruction.out) is_written = is_written || slot == written;
  }
  return true;
}

PreparedProgram prepare_body(const CompiledBody& body, std::span<const DType> operands,
                             std::span<const DType> converted) {
  Writer writer(operands);
  std::vector<Symbol> results = writer.expand(body, writer.operands());
  for (size_t i = 0; i < converted.size(); ++i) {
    results[i] = writer.as_dtype(results[i], converted[i]);
  }
  return writer.finish(results);
}

const PreparedProgram& prepare(const Scalar& scalar, std::span<const DType> args) {
  uint64_t key = 0;
  for (DType dtype : args) key = key << 4 | static_cast<uint64_t>(dtype);
  TileProgramCache& cache = *scalar.programs;
  for (const auto* node = cache.head.load(std::memory_order_acquire); node != nullptr;
       node = node->next) {
    if (node->key == key) return node->prepared;
  }
  Writer writer(args);
  PreparedProgram prepared = writer.finish(writer.call(scalar, writer.operands()));
  auto* node = new TileProgramCache::Node{key, std::move(prepared), cache.head.load()};
  while (!cache.head.compare_exchange_weak(node->next, node, std::memory_order_release)) {
  }
  return node->prepared;
}

std::optional<Literal> fold(const Scalar& scalar, std::span<const Literal> args) {
  Number in[8], out;
  if (scalar.spec.outputs != 1 || args.size() > std::size(in)) return std::nullopt;
  SmallVector<DType, 4> dtypes;
  for (const Literal& arg : args) dtypes.push_back(widest_of(default_dtype(arg)));
  if (scalar.compute_dtype(dtypes) == DType::kFloat32) {  // what integers become
    for (size_t i = 0; i < args.size(); ++i) {
      if (scalar.spec.args[i].category != Category::kBoolean) dtypes[i] = DType::kFloat64;
    }
  }
  const PreparedProgram& prepared = prepare(scalar, dtypes);
  SmallVector<Array, 4> arrays;
  SmallVector<const Array*, 4> operands;
  for (size_t i = 0; i < args.size(); ++i) {
    write_number(in[i], args[i], dtypes[i]);
    arrays.push_back({dtypes[i], {}, in[i].bytes});
  }
  for (const Array& array : arrays) operands.push_back(&array);
  const Array result(prepared.results[0], {}, out.bytes);
  const Array* const outputs[] = {&result};
  backend(Device()).run(prepared.program, {}, {operands.data(), operands.size()}, outputs);
  return read_number(out, prepared.results[0]);
}

}  // namespace tensorlike
