// Loading: map, choose a variant, copy its code, fill in addresses, protect. Running: as ProgramExecutable does it
// (backends/program/executable.cc), without a compiler.
#include "backends/loader/loaded_program.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/runtime/code_symbols.h"
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

absl::StatusOr<std::unique_ptr<LoadedProgram>> LoadedProgram::Load(ProgramBytes bytes) {
  std::unique_ptr<LoadedProgram> program(new LoadedProgram(std::move(bytes)));
  XC_ASSIGN_OR_RETURN(program->file_, ReadProgramFile(program->bytes_.bytes()));
  const std::vector<FileVariant>& variants = program->file_.variants;
  while (program->chosen_ < variants.size() && !RunsHere(variants[program->chosen_].cpu)) ++program->chosen_;
  if (program->chosen_ == variants.size()) {
    const auto name = [](std::string* out, const FileVariant& v) { out->append(v.cpu); };
    return absl::FailedPreconditionError(
        absl::StrCat("the program has code for ", variants.empty() ? "nothing" : absl::StrJoin(variants, ", ", name),
                     ", which this processor is not: compile it for x86-64-v2"));
  }
  const FileVariant& variant = program->variant();
  XC_ASSIGN_OR_RETURN(program->code_, LoadedCode::Load(variant.code));
  for (const int64_t constant : variant.constants) {
    program->constants_.push_back(program->file_.constants[constant].data());
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
  program->arenas_ = std::make_unique<ArenaPool>(variant.arena_bytes);
  return program;
}

absl::Status LoadedProgram::Run(absl::Span<const void* const> inputs, absl::Span<void* const> outputs,
                                Executor* executor, int thread_limit, TransferQueue* infeed, TransferQueue* outfeed,
                                std::vector<int32_t>* sizes) const {
  const FileVariant& v = variant();
  if (inputs.size() != file_.inputs.size() || outputs.size() != file_.outputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the program has ", file_.inputs.size(), " inputs and ",
                                                   file_.outputs.size(), " outputs, but ", inputs.size(), " and ",
                                                   outputs.size(), " are given"));
  }
  XC_ASSIGN_OR_RETURN(const ArenaPool::Lease lease, arenas_->Acquire());
  RunContext context(lease.data(), executor, thread_limit);
  context.infeed = infeed;
  context.outfeed = outfeed;
  std::vector<void*> parameters, results;
  std::vector<Block> donated;
  for (size_t i = 0; i < inputs.size(); ++i) {
    parameters.push_back(const_cast<void*>(inputs[i]));
    if (!v.parameters[i].donated) continue;
    XC_ASSIGN_OR_RETURN(Block block, Block::Allocate(v.parameters[i].bytes));
    std::memcpy(block.data(), inputs[i], v.parameters[i].bytes);
    parameters[i] = block.data();
    donated.push_back(std::move(block));
  }
  std::vector<int32_t> own_sizes(v.outputs.size() - outputs.size());
  size_t next = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    results.push_back(outputs[i]);
    for (const bool dynamic : file_.outputs[i].dynamic) {
      if (dynamic) results.push_back(&own_sizes[next++]);
    }
  }
  const LoadedFrame frame = {&context, parameters.data(), results.data(), lease.data(), constants_.data(), &calls_};
  reinterpret_cast<Entry>(reinterpret_cast<uintptr_t>(code_->entry()))(&frame);
  XC_RETURN_IF_ERROR(context.status());
  for (size_t i = 0; i < v.outputs.size(); ++i) {
    const FileVariant::Output& output = v.outputs[i];
    if (output.parameter >= 0 && output.bytes > 0) {
      std::memcpy(results[i], static_cast<char*>(parameters[output.parameter]) + output.offset, output.bytes);
    }
  }
  if (sizes != nullptr) *sizes = std::move(own_sizes);
  return absl::OkStatus();
}

}  // namespace xc
