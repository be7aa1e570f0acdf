// A program as an object file and a header, for programs in C that are linked with it.
#include <elf.h>

#include <cstring>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/loader/program_file.h"
#include "hlo/base/status.h"
#include "hlo/shape.h"
#include "service/ahead_of_time.h"

namespace xc {
namespace {

absl::Status CheckName(const std::string& name) {
  bool fits = !name.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(name[0]));
  for (const char c : name) fits = fits && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_');
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is no name in C: letters, digits and _, not a digit first; see --name"));
}

// The C type of elements; void where C has none.
const char* CType(int32_t type) {
  switch (static_cast<ElementType>(type)) {
    case ElementType::kF32:
      return "float";
    case ElementType::kF64:
      return "double";
    case ElementType::kS8:
      return "int8_t";
    case ElementType::kS16:
      return "int16_t";
    case ElementType::kS32:
      return "int32_t";
    case ElementType::kS64:
      return "int64_t";
    case ElementType::kU8:
    case ElementType::kPred:
      return "uint8_t";
    case ElementType::kU16:
      return "uint16_t";
    case ElementType::kU32:
      return "uint32_t";
    case ElementType::kU64:
      return "uint64_t";
    default:
      return "void";
  }
}

std::string Describe(const FileShape& shape) {
  const auto type = static_cast<ElementType>(shape.type);
  return absl::StrCat(ElementTypeName(type), "[", absl::StrJoin(shape.dims, ","), "], ", shape.bytes, " bytes");
}

template <typename T>
void Append(std::string* out, const T& value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

absl::StatusOr<std::string> ProgramObject(const std::string& name, absl::string_view program) {
  XC_RETURN_IF_ERROR(CheckName(name));
  enum { kNone, kRodata, kSymtab, kStrtab, kShstrtab, kStack, kSections };
  const std::string strings =
      absl::StrCat(std::string(1, '\0'), name, "_xcp", std::string(1, '\0'), name, "_xcp_size", std::string(1, '\0'));
  static constexpr char kNames[] = "\0.rodata\0.symtab\0.strtab\0.shstrtab\0.note.GNU-stack";
  constexpr uint32_t kNameAt[] = {0, 1, 9, 17, 25, 35};
  constexpr int64_t kStart = 4096;
  std::string out(kStart, '\0');
  out.append(program.data(), program.size());
  out.resize((out.size() + 7) / 8 * 8);
  const uint64_t size_at = out.size() - kStart;
  Append(&out, static_cast<uint64_t>(program.size()));
  const uint64_t rodata_bytes = out.size() - kStart, symbols_at = out.size();
  Elf64_Sym symbols[3] = {};
  symbols[1].st_name = 1;
  symbols[2].st_name = static_cast<uint32_t>(1 + name.size() + 5);
  symbols[2].st_value = size_at;
  symbols[1].st_size = program.size();
  symbols[2].st_size = 8;
  for (int i : {1, 2}) {
    symbols[i].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    symbols[i].st_shndx = kRodata;
  }
  for (const Elf64_Sym& symbol : symbols) Append(&out, symbol);
  const uint64_t strings_at = out.size();
  out += strings;
  const uint64_t names_at = out.size();
  out.append(kNames, sizeof(kNames));
  out.resize((out.size() + 7) / 8 * 8);
  const uint64_t sections_at = out.size();
  Elf64_Shdr sections[kSections] = {};
  const auto set = [&](int i, uint32_t type, uint64_t at, uint64_t bytes, uint64_t alignment) {
    sections[i].sh_name = kNameAt[i];
    sections[i].sh_type = type;
    sections[i].sh_offset = at;
    sections[i].sh_size = bytes;
    sections[i].sh_addralign = alignment;
  };
  set(kRodata, SHT_PROGBITS, kStart, rodata_bytes, 4096);
  sections[kRodata].sh_flags = SHF_ALLOC;
  set(kSymtab, SHT_SYMTAB, symbols_at, sizeof(symbols), 8);
  sections[kSymtab].sh_link = kStrtab;
  sections[kSymtab].sh_info = 1;
  sections[kSymtab].sh_entsize = sizeof(Elf64_Sym);
  set(kStrtab, SHT_STRTAB, strings_at, strings.size(), 1);
  set(kShstrtab, SHT_STRTAB, names_at, sizeof(kNames), 1);
  set(kStack, SHT_PROGBITS, sections_at, 0, 1);
  for (const Elf64_Shdr& section : sections) Append(&out, section);
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_shoff = sections_at;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kSections;
  header.e_shstrndx = kShstrtab;
  std::memcpy(&out[0], &header, sizeof(header));
  return out;
}

absl::StatusOr<std::string> ProgramHeader(const std::string& name, absl::string_view program) {
  XC_RETURN_IF_ERROR(CheckName(name));
  XC_ASSIGN_OR_RETURN(const ProgramFile whole, ReadProgramFile(program));
  XC_ASSIGN_OR_RETURN(const FileSizes file, whole.Sizes(0));
  std::string guard = absl::StrCat("XC_PROGRAM_", absl::AsciiStrToUpper(name), "_H_");
  std::string out = absl::StrCat("/* Made by `xla compile --format=object`: the program ", name, ", to be linked with ",
                                 name, ".o and -lxcrt (or -lxc). */\n#ifndef ", guard, "\n#define ", guard,
                                 "\n\n#include <xc/xc.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  absl::StrAppend(&out, "extern const unsigned char ", name, "_xcp[];\nextern const uint64_t ", name,
                  "_xcp_size;\n\n/* Makes it ready to run; free it with xc_executable_free. */\nstatic inline "
                  "xc_status* ",
                  name, "_load(xc_executable** out) {\n  return xc_load_program_bytes(", name, "_xcp, ", name,
                  "_xcp_size, out);\n}\n\n/* Runs it with `threads` threads at most (0: all).\n");
  std::vector<std::string> parameters, inputs, outputs;
  for (size_t i = 0; i < file.inputs.size(); ++i) {
    absl::StrAppend(&out, " *   input", i, ": ", Describe(file.inputs[i]), "\n");
    parameters.push_back(absl::StrCat("const ", CType(file.inputs[i].type), "* input", i));
    inputs.push_back(absl::StrCat("input", i));
  }
  for (size_t i = 0; i < file.outputs.size(); ++i) {
    absl::StrAppend(&out, " *   output", i, ": ", Describe(file.outputs[i]), "\n");
    parameters.push_back(absl::StrCat(CType(file.outputs[i].type), "* output", i));
    outputs.push_back(absl::StrCat("output", i));
  }
  const auto array = [](const std::vector<std::string>& names) {
    return names.empty() ? std::string("{0}") : absl::StrCat("{", absl::StrJoin(names, ", "), "}");
  };
  absl::StrAppend(&out, " */\nstatic inline xc_status* ", name, "_run(const xc_executable* program, ",
                  absl::StrJoin(parameters, ", "), parameters.empty() ? "" : ", ", "int threads) {\n",
                  "  const void* const inputs[] = ", array(inputs), ";\n  void* const outputs[] = ", array(outputs),
                  ";\n  return xc_executable_run(program, inputs, ", inputs.size(), ", outputs, ", outputs.size(),
                  ", threads);\n}\n\n#ifdef __cplusplus\n} /* extern \"C\" */\n#endif\n\n#endif /* ", guard, " */\n");
  return out;
}

}  // namespace xc
