// The container of a program: a header of 64 bytes, the structure, the tensors.
#include <array>
#include <cstring>

#include "program/file.h"

namespace tensorlike {
namespace {

// As PNG's: a byte that is no ASCII, and line ends that a transfer as text would change.
constexpr std::string_view kMagic("\x89TLP\r\n\x1a\n", 8);
constexpr uint32_t kVersion = 1;
constexpr size_t kHeader = 64;
constexpr size_t kSectionAlignment = 64;

// Where the numbers of the header stand, little-endian.
constexpr size_t kVersionAt = 8, kStructureAt = 16, kTensorsAt = 24, kStructureSumAt = 32,
                 kTensorsSumAt = 36, kHeaderSumAt = 60;

constexpr std::array<uint32_t, 256> kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78U : 0);
    table[i] = value;
  }
  return table;
}();

void put(std::string& out, size_t at, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out[at + i] = static_cast<char>(value >> (8 * i) & 0xFF);
}

uint64_t number_at(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

size_t aligned(size_t place) {
  return (place + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
}

[[noreturn]] void refuse(const std::string& must, const std::string& got) {
  fail(ErrorKind::kArgument, must, said::got(got));
}

bool is_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

uint32_t checksum(std::string_view bytes) {
  uint32_t value = ~0U;
  for (char c : bytes)
    value = kTable[(value ^ static_cast<unsigned char>(c)) & 0xFF] ^ (value >> 8);
  return ~value;
}

std::string write_sections(const Sections& sections) {
  std::string out(kHeader, '\0');
  out.replace(0, kMagic.size(), kMagic);
  put(out, kVersionAt, kVersion, 4);
  put(out, kStructureAt, sections.structure.size(), 8);
  put(out, kTensorsAt, sections.tensors.size(), 8);
  put(out, kStructureSumAt, checksum(sections.structure), 4);
  put(out, kTensorsSumAt, checksum(sections.tensors), 4);
  put(out, kHeaderSumAt, checksum(std::string_view(out).substr(0, kHeaderSumAt)), 4);
  out.reserve(aligned(kHeader + sections.structure.size()) + sections.tensors.size());
  out += sections.structure;
  out.resize(aligned(out.size()), '\0');
  out += sections.tensors;
  return out;
}

Sections read_sections(std::string_view bytes) {
  if (bytes.size() < kHeader || bytes.substr(0, kMagic.size()) != kMagic) {
    refuse("the file must begin as a program does", text(bytes.size(), " bytes of another kind"));
  }
  const uint64_t version = number_at(bytes, kVersionAt, 4);
  if (version != kVersion) {
    fail(ErrorKind::kArgument, "the version must be at most ", kVersion, said::got(version),
         said::fix("read it by a newer tensorlike, or write it by this one"));
  }
  if (checksum(bytes.substr(0, kHeaderSumAt)) != number_at(bytes, kHeaderSumAt, 4) ||
      !is_zero(bytes.substr(12, 4)) || !is_zero(bytes.substr(40, 20))) {
    refuse("the header must be whole", "one whose checksum differs");
  }
  const uint64_t structure = number_at(bytes, kStructureAt, 8);
  const uint64_t tensors = number_at(bytes, kTensorsAt, 8);
  const size_t rest = bytes.size() - kHeader;
  const bool fits = structure <= rest && aligned(kHeader + structure) <= bytes.size() &&
                    tensors == bytes.size() - aligned(kHeader + structure);
  if (!fits) {
    refuse("the file must be as long as its header says",
           text(bytes.size(), " bytes for sections of ", structure, " and ", tensors));
  }
  const size_t begin = aligned(kHeader + structure);
  const Sections found{bytes.substr(kHeader, structure), bytes.substr(begin)};
  if (checksum(found.structure) != number_at(bytes, kStructureSumAt, 4) ||
      checksum(found.tensors) != number_at(bytes, kTensorsSumAt, 4) ||
      !is_zero(bytes.substr(kHeader + structure, begin - kHeader - structure))) {
    refuse("the file must be whole", "sections whose checksums differ");
  }
  return found;
}

}  // namespace tensorlike
