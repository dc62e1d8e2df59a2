// Programs as files: one versioned, checked format, which needs no Python. docs/program_file.md has
// every byte of it.
//
//   NamedTensors found = Program::load("model.tlp").run({{"x", x}});
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "program/executor.h"
#include "program/tensors.h"

namespace tensorlike {

struct ProgramFile {
  Ref<Program> program = make_ref<Program>();
  std::vector<std::pair<std::string, int>> results = {};  // names, and which variables they are
  NamedTensors weights = {};                              // of states

  std::vector<int> numbers() const;
  // The states, which start with the weights.
  Scope& scope();
  // Feeds inputs by name, and gives results by name. States stay as they come to be.
  NamedTensors run(const Feeds& feeds);

  Ref<Scope> states = {};  // what `scope` gives, once it has
};

// What whoever embeds the core adds: the texts from which ops were declared, and ops of its own.
struct Language {
  using Source = std::vector<std::string>;  // a name, the text, and perhaps a library

  virtual ~Language() = default;
  virtual std::vector<Source> sources_of(const std::set<std::string>& names) = 0;
  // Declares what is missing.
  virtual void restore(const std::vector<Source>& sources) = 0;
  // A class of ops that a file has, and the name that its versions share.
  virtual void meet(const OpClass& cls, const std::string& name) = 0;
  // An op that the core does not know, as text and back.
  virtual std::string text_of(const Op& op) = 0;
  virtual Ref<const Op> op_of(std::string_view text) = 0;
  // A program that becomes a part of another.
  virtual Ref<Program> add_part(Program& whole, const std::string& name) = 0;
};

// ErrorKind::kArgument where a value is no array, or an op has no form as bytes.
std::string write_program(const ProgramFile& file, Language* language = nullptr);
// Fills `file.program`, which is empty. ErrorKind::kArgument where the bytes are no program, or one
// that this process cannot make.
void read_program(std::string_view bytes, ProgramFile& file, Language* language = nullptr);

[[noreturn]] void refuse_program(std::string why);

void save_program(const ProgramFile& file, const std::string& path);

// The sections of a file, checked: lengths, checksums and all that is reserved.
struct Sections {
  std::string_view structure, tensors;
};
std::string write_sections(const Sections& sections);
Sections read_sections(std::string_view bytes);
// CRC-32C, the checksum of iSCSI and of ext4.
uint32_t checksum(std::string_view bytes);

}  // namespace tensorlike
