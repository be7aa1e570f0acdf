#include "importers/stablehlo/bytecode/reader.h"

#include "absl/strings/str_cat.h"
#include "importers/stablehlo/bytecode/bytecode.h"

namespace xc::stablehlo {

std::string DescribeByte(absl::string_view file, const char* at, absl::string_view message) {
  return absl::StrCat("MLIR bytecode, byte ", at - file.data(), ": ", message);
}

absl::Status ReadBytecode(absl::string_view bytes, const ParseOptions& options, Program* program) {
  BytecodeReader reader(bytes, options, program);
  reader.Run();
  return reader.status();
}

bool BytecodeReader::Run() {
  if (!ReadSections(file_, &errors_, &sections_)) return false;
  types_.resize(sections_.types.size());
  attributes_.resize(sections_.attributes.size());
  known_ops_.resize(sections_.op_names.size());
  location_seen_.resize(sections_.attributes.size());
  return ReadModule() && ReadLocations();
}

bool BytecodeReader::Charge(const Cursor& in, int64_t pieces) {
  budget_ -= pieces;
  if (budget_ >= 0) return true;
  return errors_.Fail(in.at(),
                      "its attributes and types refer to each other so often that they would take too much "
                      "memory");
}

// `parent` gets a copy of something that has `depth` and `size`.
bool BytecodeReader::Enter(Parent* parent, int depth, int64_t size, Cursor* in) {
  parent->depth = std::max(parent->depth, depth + 1);
  if (parent->depth > options_.max_nesting) {
    return in->Fail(absl::StrCat("nested more than ", options_.max_nesting, " deep"));
  }
  parent->size += size;
  return Charge(*in, size);
}

absl::string_view BytecodeReader::Keep(std::string text) {
  program_.kept.push_back(std::move(text));
  return program_.kept.back();
}

bool BytecodeReader::String(Cursor* in, absl::string_view* out) {
  uint64_t index = 0;
  if (!in->Index("string", sections_.strings.size(), &index)) return false;
  *out = sections_.strings[index];
  return true;
}

bool BytecodeReader::SignedInts(Cursor* in, Int64List* out) {
  uint64_t count = 0;
  if (!in->Count("integers", &count)) return false;
  out->resize(count);
  for (int64_t& value : *out) {
    if (!in->SignedVarInt(&value)) return false;
  }
  return true;
}

}  // namespace xc::stablehlo
