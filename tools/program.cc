#include "tools/program.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "backends/runtime/arena.h"
#include "hlo/base/machine.h"
#include "hlo/base/status.h"
#include "service/npy.h"

namespace xc {
absl::Status TimeRuns(const Executable& executable, std::vector<Literal>* inputs, bool keep_inputs,
                      const RunOptions& options, int64_t runs, double seconds, double* best_ms, double* median_ms) {
  std::vector<Block> buffers;
  std::vector<const void*> parameters;
  std::vector<void*> results;
  for (size_t i = 0; i < inputs->size(); ++i) {
    const Shape& leaf = executable.parameter_leaves()[i];
    XC_ASSIGN_OR_RETURN(Block buffer, Block::Allocate(leaf.ByteSize()));
    Literal& input = (*inputs)[i];
    if (input.elided()) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is elided: its elements are not known"));
    }
    if (leaf.IsArray()) {
      if (leaf.IsRowMajor()) {
        if (input.byte_size() > 0) std::memcpy(buffer.data(), input.bytes(), input.byte_size());
      } else {
        Literal in_layout = input.Clone();
        *in_layout.mutable_shape() = leaf;
        in_layout.ToLayout(reinterpret_cast<uint8_t*>(buffer.data()));
      }
    }
    if (!keep_inputs) input = Literal();
    parameters.push_back(buffer.data());
    buffers.push_back(std::move(buffer));
  }
  for (const Shape& leaf : executable.result_leaves()) {
    XC_ASSIGN_OR_RETURN(Block buffer, Block::Allocate(leaf.ByteSize()));
    results.push_back(buffer.data());
    buffers.push_back(std::move(buffer));
  }
  // The first run touches the memory and wakes the threads.
  if (runs > 1 || seconds > 0) {
    RunOptions first = options;
    first.profile = nullptr;
    XC_RETURN_IF_ERROR(executable.Run(parameters, results, first));
  }
  std::vector<double> times;
  const absl::Time start = absl::Now();
  while (static_cast<int64_t>(times.size()) < runs) {
    const absl::Time before = absl::Now();
    XC_RETURN_IF_ERROR(executable.Run(parameters, results, options));
    const absl::Time after = absl::Now();
    times.push_back(absl::ToDoubleMilliseconds(after - before));
    if (seconds > 0 && absl::ToDoubleSeconds(after - start) > seconds) break;
  }
  std::sort(times.begin(), times.end());
  *best_ms = times.front();
  *median_ms = times[times.size() / 2];
  return absl::OkStatus();
}

absl::StatusOr<Literal> ReadArray(const std::string& path, const Shape& shape) {
  XC_ASSIGN_OR_RETURN(Literal read, ReadNpy(path));
  if (read.shape().dims() != shape.dims()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is ", read.shape().ToString(), ", but should be ", shape.ToString(false)));
  }
  const ElementType from = read.shape().type(), to = shape.type();
  if (from == to) return read;
  // In the order of what can hold what: integers and truth values, floats, complex numbers.
  const auto kind = [](ElementType type) { return IsComplex(type) ? 2 : (IsFloating(type) ? 1 : 0); };
  if (kind(from) > kind(to)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is ", read.shape().ToString(), ", whose numbers ",
                                                   ElementTypeName(to), " cannot hold; it should be ",
                                                   shape.ToString(false)));
  }
  Literal converted(shape);
  for (int64_t e = 0; e < converted.size(); ++e) {
    if (kind(to) == 0) {
      converted.SetInt(e, read.GetInt(e));
    } else {
      converted.SetComplex(e, read.GetComplex(e));
    }
  }
  return converted;
}

namespace {

absl::Status CheckMemory(absl::string_view what, double bytes, int64_t limit_bytes) {
  const double limit = limit_bytes > 0 ? static_cast<double>(limit_bytes) : static_cast<double>(AvailableMemory());
  if (bytes <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(what, " needs ", static_cast<int64_t>(bytes / (1 << 20)), " MiB; the limit is ",
                   static_cast<int64_t>(limit / (1 << 20)),
                   limit_bytes > 0 ? " MiB (--memory_limit_mb)"
                                   : " MiB, the memory that this process may use; --compile_only does not run"));
}

}  // namespace

absl::Status CheckInputMemory(const HloModule& module, int64_t limit_bytes) {
  double bytes = 0;
  for (int64_t i = 0; i < module.entry()->parameter_count(); ++i) {
    bytes += static_cast<double>(module.entry()->parameter(i)->shape().TotalByteSize());
  }
  if (module.entry()->root() != nullptr) bytes += static_cast<double>(module.entry()->root()->shape().TotalByteSize());
  return CheckMemory("holding the inputs and outputs", bytes, limit_bytes);
}

absl::Status CheckRunMemory(const Executable& executable, int copies, int64_t limit_bytes) {
  double bytes = static_cast<double>(executable.temp_bytes()), largest = 0;
  for (const Shape& leaf : executable.parameter_leaves()) {
    bytes += copies * static_cast<double>(leaf.ByteSize());
    largest = std::max(largest, static_cast<double>(leaf.ByteSize()));
  }
  for (const Shape& leaf : executable.result_leaves()) bytes += copies * static_cast<double>(leaf.ByteSize());
  return CheckMemory("running the program", bytes + (copies == 1 ? largest : 0), limit_bytes);
}

int64_t FillElidedConstants(HloModule* module) {
  int64_t filled = 0;
  // Whole 32-bit words count up; the bytes that are left over have a count of their own and, in the reader of today's
  // XLA, come right behind as many bytes as there were words.
  uint32_t next_word = 0;
  uint8_t next_byte = 0;
  for (const auto& computation : module->computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (!instruction->IsConstant() || !instruction->literal().elided()) continue;
      Literal literal = instruction->literal().Clone();
      const ElementType type = literal.shape().type();
      const int64_t words = literal.byte_size() / 4, rest = literal.byte_size() % 4;
      if (type == ElementType::kPred || IsSubByte(type)) {
        for (int64_t i = 0; i < literal.size(); ++i)
          literal.SetInt(i, type == ElementType::kPred ? next_byte++ & 1 : next_byte++);
      } else {
        for (int64_t i = 0; i < words; ++i, ++next_word) std::memcpy(literal.mutable_bytes() + 4 * i, &next_word, 4);
        for (int64_t i = words; i < words + rest; ++i) literal.mutable_bytes()[i] = next_byte++;
      }
      literal.set_elided(false);
      instruction->set_literal(std::make_shared<const Literal>(std::move(literal)));
      ++filled;
    }
  }
  return filled;
}

}  // namespace xc
