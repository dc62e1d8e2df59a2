// Saving, loading and running.
#include "program/file.h"

#include <fstream>
#include <sstream>

#include "op/op.h"

namespace tensorlike {

std::vector<int> ProgramFile::numbers() const {
  std::vector<int> found;
  for (const auto& [name, number] : results) found.push_back(number);
  return found;
}

Scope& ProgramFile::scope() {
  if (!states) {
    states = make_ref<Scope>();
    for (const auto& [name, tensor] : weights) states->set(name, tensor);
  }
  return *states;
}

NamedTensors ProgramFile::run(const Feeds& feeds) {
  const Values found = execute(*program, feeds, numbers(), scope());
  NamedTensors named;
  for (size_t i = 0; i < found.size(); ++i) {
    named[results[i].first] = Ref<RawTensor>(static_cast<RawTensor*>(found[i].get()));
  }
  return named;
}

void save_program(const ProgramFile& file, const std::string& path) {
  const std::string bytes = write_program(file);
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out)
    fail(ErrorKind::kArgument, said::op("save"), "the file must be writable", said::got(path));
}

ProgramFile Program::load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  if (!in)
    fail(ErrorKind::kArgument, said::op("load"), "the file must be readable", said::got(path));
  ProgramFile file;
  read_program(bytes.view(), file);
  return file;
}

}  // namespace tensorlike
