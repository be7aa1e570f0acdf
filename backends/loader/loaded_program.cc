// Loading: map, choose a variant, copy its code, fill in addresses, protect. Running: as ProgramExecutable does it
// (backends/program/executable.cc), without a compiler.
#include "backends/loader/loaded_program.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/runtime/code_symbols.h"
#include "backends/runtime/donated.h"
#include "backends/runtime/float_state.h"
#include "backends/runtime/onednn.h"
#include "hlo/base/exceptions.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// One run's memory, as generated code finds it: the fields of Frame (backends/program/executable.h), in its order.
struct LoadedFrame {
  void* context;
  void* const* parameters;
  void* const* outputs;
  char* arena;
  const void* const* constants;
  const std::vector<PreparedCall>* calls;
  const char* sizes;
};
using Entry = int32_t (*)(const LoadedFrame*);

int32_t CustomCall(const LoadedFrame* frame, int64_t site, void* const* inputs, void* const* outputs) {
  auto* run = static_cast<RunContext*>(frame->context);
  return run->Record(CatchExceptions([&] { return (*frame->calls)[site].Run(run, inputs, outputs); }));
}

const void* FindFunction(absl::string_view name) {
  if (name == "xc_cpu_custom_call") return reinterpret_cast<const void*>(&CustomCall);
  for (const RuntimeSymbol& symbol : CodeSymbols()) {
    if (name == symbol.name) return symbol.address;
  }
  return nullptr;
}

bool RunsHere(absl::string_view cpu) {
  __builtin_cpu_init();
  const bool v2 =
      __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("ssse3");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512cd");
  return (cpu == "x86-64-v2" && v2) || (cpu == "x86-64-v3" && v3) || (cpu == "x86-64-v4" && v4);
}

// A custom call's arrays as the registry wants them: views of `shapes`.
std::vector<CallBuffer> BuffersOf(const std::vector<FileShape>& shapes) {
  std::vector<CallBuffer> buffers;
  for (const FileShape& shape : shapes) {
    CallBuffer& buffer = buffers.emplace_back();
    buffer.type = static_cast<RtType>(shape.type);
    buffer.dims = shape.dims;
    buffer.minor_to_major = shape.minor_to_major;
  }
  return buffers;
}

absl::Status Failed(absl::string_view what, const std::string& path) {
  const std::string message = absl::StrCat(what, " ", path, ": ", std::strerror(errno));
  return errno == ENOENT ? absl::NotFoundError(message) : absl::FailedPreconditionError(message);
}

}  // namespace

ProgramBytes::ProgramBytes(ProgramBytes&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      mapped_(std::exchange(other.mapped_, false)),
      copy_(std::move(other.copy_)) {}

ProgramBytes::~ProgramBytes() {
  if (mapped_) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

absl::StatusOr<ProgramBytes> ProgramBytes::Map(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return Failed("cannot read", path);
  struct stat info {};
  ProgramBytes out;
  absl::Status status;
  if (fstat(file, &info) != 0) {
    status = Failed("cannot read", path);
  } else if (!S_ISREG(info.st_mode) || info.st_size == 0) {
    status = absl::InvalidArgumentError(absl::StrCat(path, " is no compiled program"));
  } else {
    void* const memory = mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED) {
      status = absl::ResourceExhaustedError(absl::StrCat("there is no memory to map ", path));
    } else {
      out.bytes_ = absl::string_view(static_cast<const char*>(memory), info.st_size);
      out.mapped_ = true;
    }
  }
  close(file);
  if (!status.ok()) return status;
  return out;
}

absl::StatusOr<ProgramBytes> ProgramBytes::Of(absl::string_view bytes) {
  ProgramBytes out;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % ProgramFile::kAlignment == 0) {
    out.bytes_ = bytes;
    return out;
  }
  XC_ASSIGN_OR_RETURN(out.copy_, Block::Allocate(bytes.size()));
  std::memcpy(out.copy_.data(), bytes.data(), bytes.size());
  out.bytes_ = absl::string_view(out.copy_.data(), bytes.size());
  return out;
}

LoadedCode::~LoadedCode() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

absl::StatusOr<std::unique_ptr<LoadedCode>> LoadedCode::Load(const CodeImage& image) {
  std::unique_ptr<LoadedCode> code(new LoadedCode);
  const auto size = static_cast<int64_t>(image.bytes.size());
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return absl::ResourceExhaustedError("there is no memory for the program's code");
  code->memory_ = static_cast<char*>(memory);
  code->bytes_ = size;
  code->entry_ = image.entry;
  std::memcpy(code->memory_, image.bytes.data(), image.bytes.size());
  for (size_t i = 0; i < image.imports.size(); ++i) {
    const void* const function = FindFunction(image.imports[i]);
    if (function == nullptr) {
      return absl::UnimplementedError(absl::StrCat("the program calls ", image.imports[i],
                                                   ", which this library does not have: it is of another version"));
    }
    std::memcpy(code->memory_ + image.import_slots + 8 * i, &function, 8);
  }
  for (const int64_t relocation : image.relocations) {
    uint64_t address;
    std::memcpy(&address, image.bytes.data() + relocation, 8);
    address += reinterpret_cast<uint64_t>(code->memory_);
    std::memcpy(code->memory_ + relocation, &address, 8);
  }
  const int64_t data_bytes = size - image.text_bytes;
  if (mprotect(code->memory_, image.text_bytes, PROT_READ | PROT_EXEC) != 0 ||
      (data_bytes > 0 && mprotect(code->memory_ + image.text_bytes, data_bytes, PROT_READ) != 0)) {
    return absl::FailedPreconditionError(
        absl::StrCat("this system does not let the program's code be executed: ", std::strerror(errno)));
  }
  return code;
}

struct LoadedProgram::File {
  explicit File(ProgramBytes bytes_of_it) : bytes(std::move(bytes_of_it)) {}
  absl::StatusOr<std::shared_ptr<const LoadedCode>> Code(int64_t i) {
    std::lock_guard<std::mutex> lock(mutex);
    if (codes[i] == nullptr) {
      XC_ASSIGN_OR_RETURN(codes[i], LoadedCode::Load(file.codes[i]));
    }
    return codes[i];
  }

  const ProgramBytes bytes;
  ProgramFile file;
  size_t chosen = 0;  // of its processors
  std::mutex mutex;
  std::vector<std::shared_ptr<const LoadedCode>> codes;  // those that are in use; under mutex
};

LoadedProgram::LoadedProgram(std::shared_ptr<File> file) : file_(std::move(file)) {}
LoadedProgram::~LoadedProgram() = default;
const FileVariant& LoadedProgram::variant() const { return sizes_.variants[file_->chosen]; }
const std::string& LoadedProgram::name() const { return file_->file.name; }
const std::string& LoadedProgram::cpu() const { return file_->file.cpus[file_->chosen]; }
int64_t LoadedProgram::temp_bytes() const {
  int64_t most = split_.has_value() ? 0 : variant().arena_bytes;
  for (const auto& piece : pieces_) most = std::max(most, piece->temp_bytes());
  return most;
}
int64_t LoadedProgram::num_sizes() const { return file_->file.num_sizes(); }

absl::StatusOr<std::unique_ptr<LoadedProgram>> LoadedProgram::Load(ProgramBytes bytes) {
  auto loaded = std::make_shared<File>(std::move(bytes));
  XC_ASSIGN_OR_RETURN(loaded->file, ReadProgramFile(loaded->bytes.bytes()));
  const std::vector<std::string>& cpus = loaded->file.cpus;
  while (loaded->chosen < cpus.size() && !RunsHere(cpus[loaded->chosen])) ++loaded->chosen;
  if (loaded->chosen == cpus.size()) {
    return absl::FailedPreconditionError(absl::StrCat("the program has code for ",
                                                      cpus.empty() ? "nothing" : absl::StrJoin(cpus, ", "),
                                                      ", which this processor is not: compile it for x86-64-v2"));
  }
  loaded->codes.resize(loaded->file.codes.size());
  return Make(std::move(loaded), 0);
}

absl::StatusOr<std::unique_ptr<LoadedProgram>> LoadedProgram::At(int64_t i) const {
  if (i < 0 || i >= num_sizes()) {
    return absl::InvalidArgumentError(absl::StrCat("the program has no sizes number ", i, ", but ", num_sizes()));
  }
  return Make(file_, i);
}

absl::StatusOr<std::unique_ptr<LoadedProgram>> LoadedProgram::For(absl::Span<const int64_t> key) const {
  const absl::StatusOr<int64_t> i = file_->file.Find(key);
  if (i.ok()) return Make(file_, *i);
  return MakeCut(file_, key, /*like=*/nullptr, i.status(), file_->file.opens.size());
}

absl::StatusOr<std::unique_ptr<LoadedProgram>> LoadedProgram::MakeCut(std::shared_ptr<File> file,
                                                                      absl::Span<const int64_t> key,
                                                                      const OpenSize* like, const absl::Status& why,
                                                                      size_t depth) {
  if (depth == 0) return why;
  XC_ASSIGN_OR_RETURN(const KeyCut cut, CutKey(file->file, key, like, why));
  std::unique_ptr<LoadedProgram> program(new LoadedProgram(std::move(file)));
  std::vector<SplitRun::Signature> signatures;
  for (const KeyCut::Piece& piece : cut.pieces) {
    // Of the range that the open size belongs to: of another one, nobody knows that rows are apart.
    const absl::StatusOr<int64_t> i = program->file_->file.Find(piece.key, cut.open->first_group, cut.open->end_group);
    XC_ASSIGN_OR_RETURN(
        program->pieces_.emplace_back(),
        i.ok() ? Make(program->file_, *i) : MakeCut(program->file_, piece.key, cut.open, i.status(), depth - 1));
    signatures.push_back({&program->pieces_.back()->inputs(), &program->pieces_.back()->outputs()});
  }
  XC_ASSIGN_OR_RETURN(program->split_, SplitRun::Make(cut, signatures));
  program->sizes_.inputs = program->split_->inputs();
  program->sizes_.outputs = program->split_->outputs();
  program->code_ = program->pieces_[0]->code_;
  return program;
}

absl::StatusOr<std::unique_ptr<LoadedProgram>> LoadedProgram::Make(std::shared_ptr<File> file, int64_t i) {
  std::unique_ptr<LoadedProgram> program(new LoadedProgram(std::move(file)));
  File& loaded = *program->file_;
  XC_ASSIGN_OR_RETURN(program->sizes_, loaded.file.Sizes(i));
  const FileVariant& variant = program->variant();
  if (variant.prepares_products) onednn::PrepareProducts();
  XC_ASSIGN_OR_RETURN(program->code_, loaded.Code(variant.code));
  for (const int64_t constant : variant.constants) {
    program->constants_.push_back(loaded.file.constants[constant].data());
  }
  for (const FileCall& call : variant.calls) {
    const std::vector<CallBuffer> inputs = BuffersOf(call.inputs), outputs = BuffersOf(call.outputs);
    CallArgs args;
    args.target = call.target;
    args.inputs = inputs;
    args.outputs = outputs;
    args.backend_config = call.backend_config;
    args.tuple_result = call.tuple_result;
    XC_ASSIGN_OR_RETURN(PreparedCall prepared, PreparedCall::Make(args));
    program->calls_.push_back(std::move(prepared));
  }
  XC_ASSIGN_OR_RETURN(program->table_, Block::Allocate(8 * variant.table.size()));
  if (!variant.table.empty()) {
    std::memcpy(program->table_.data(), variant.table.data(), 8 * variant.table.size());
  }
  // Of a program at many sizes, each keeps little memory between its runs.
  const size_t idle = program->num_sizes() == 1 ? 4 : 1;
  program->arenas_ = std::make_unique<ArenaPool>(variant.arena_bytes, /*guard=*/false, idle);
  return program;
}

absl::Status LoadedProgram::Run(absl::Span<const void* const> inputs, absl::Span<void* const> outputs,
                                Executor* executor, int thread_limit, TransferQueue* infeed, TransferQueue* outfeed,
                                std::vector<int32_t>* sizes) const {
  if (inputs.size() != sizes_.inputs.size() || outputs.size() != sizes_.outputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the program has ", sizes_.inputs.size(), " inputs and ",
                                                   sizes_.outputs.size(), " outputs, but ", inputs.size(), " and ",
                                                   outputs.size(), " are given"));
  }
  if (split_.has_value()) {
    if (sizes != nullptr) sizes->clear();
    const auto run = [&](size_t piece, absl::Span<const void* const> parts, absl::Span<void* const> results) {
      return pieces_[piece]->Run(parts, results, executor, thread_limit, infeed, outfeed);
    };
    return split_->ForEach(inputs, outputs, run);
  }
  const FileVariant& v = variant();
  XC_ASSIGN_OR_RETURN(const ArenaPool::Lease lease, arenas_->Acquire());
  RunContext context(lease.data(), executor, thread_limit);
  context.infeed = infeed;
  context.outfeed = outfeed;
  std::vector<void*> parameters, results;
  std::vector<Block> donated;
  for (const void* const input : inputs) parameters.push_back(const_cast<void*>(input));
  std::vector<int32_t> own_sizes(v.outputs.size() - outputs.size());
  size_t next = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    results.push_back(outputs[i]);
    for (const bool dynamic : sizes_.outputs[i].dynamic) {
      if (dynamic) results.push_back(&own_sizes[next++]);
    }
  }
  XC_RETURN_IF_ERROR(PlaceDonated(
      v.parameters, v.outputs, results, [](size_t) { return false; }, &parameters, &donated));
  const FloatScope floats(FloatScope::Denormals::kKept);
  const LoadedFrame frame = {&context,          parameters.data(), results.data(), lease.data(),
                             constants_.data(), &calls_,           table_.data()};
  reinterpret_cast<Entry>(reinterpret_cast<uintptr_t>(code_->entry()))(&frame);
  XC_RETURN_IF_ERROR(context.status());
  CopyFromParameters(v.outputs, parameters, results);
  if (sizes != nullptr) *sizes = std::move(own_sizes);
  return absl::OkStatus();
}

}  // namespace xc
