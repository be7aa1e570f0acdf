// From parsed PTX to the form that runs: registers become slots, constants are spread over the lanes, each statement
// becomes an instruction with a handler.
#ifndef XC_BACKENDS_GPU_EMULATOR_DECODER_H_
#define XC_BACKENDS_GPU_EMULATOR_DECODER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/gpu/emulator/machine.h"
#include "backends/gpu/emulator/ptx.h"

namespace xc::emulator {

// Where the variables of a module are.
using Symbols = std::unordered_map<std::string, uint64_t>;

// Decodes the entry `entry` of `module` and what it calls. `symbols` has the addresses of its global and const
// variables. Errors: Unimplemented or InvalidArgument with the line and the statement that is not known or wrong.
absl::StatusOr<std::unique_ptr<Kernel>> DecodeKernel(const ParsedModule& module, const Function& entry,
                                                     const Symbols& symbols);

class Decoder;

// How statements of one opcode become instructions.
struct DecodeRow {
  const char* op;
  void (*decode)(Decoder& d, const Statement& s);
};
absl::Span<const DecodeRow> IntegerOps();
absl::Span<const DecodeRow> BitOps();
absl::Span<const DecodeRow> CompareOps();
absl::Span<const DecodeRow> FloatOps();
absl::Span<const DecodeRow> FunctionOps();
absl::Span<const DecodeRow> ConvertOps();
absl::Span<const DecodeRow> MoveOps();
absl::Span<const DecodeRow> MemoryOps();
absl::Span<const DecodeRow> AtomicOps();
absl::Span<const DecodeRow> ControlOps();
absl::Span<const DecodeRow> WarpOps();
absl::Span<const DecodeRow> MatrixOps();
absl::Span<const DecodeRow> CopyOps();

// What the decoders of a kernel's functions share: the kernel being made, its shared memory, the functions it calls.
struct KernelDecoder {
  const ParsedModule* module;
  const Symbols* symbols;
  Kernel* kernel;
  std::map<std::string, int> code_index;  // of functions in kernel->code
  std::vector<const Function*> pending;   // in the order of kernel->code
  std::map<std::string, int64_t> shared;  // addresses of the module's shared variables
  int64_t shared_top = kSharedBase;
};

// Decodes one function. The first error is kept and returned by Decode; slots that are asked for after an error are
// valid, but mean nothing.
class Decoder {
 public:
  Decoder(KernelDecoder* kernel, const Function& function, Code* code);
  absl::Status Decode();

  void Fail(absl::string_view what);
  void Unknown(const Statement& s) { Fail("unknown form of the instruction"); }
  // Whether there are `n` operands; fails if not.
  bool Operands(const Statement& s, size_t n) { return Operands(s, n, n); }
  bool Operands(const Statement& s, size_t least, size_t most);

  // Slot with the operand's value: of exactly the type's size.
  Slot Source(const Operand& operand, Type type);
  // The same for a register of whatever size; *bytes receives it (immediates: as `type`).
  Slot SourceOfAnySize(const Operand& operand, Type type, int* bytes);
  Slot Result(const Operand& operand, Type type);
  Slot ResultOfAnySize(const Operand& operand, int* bytes);
  Slot PredicateSource(const Operand& operand, bool* negated);
  // A new slot for a temporary value of `bytes`; and a slot that holds a constant in all lanes.
  Slot Scratch(int bytes);
  Slot Constant(uint64_t bits, int bytes);
  // The carry flag.
  Slot Carry();
  // Fills a (base), imm (offset), x (space), z (1: the base has 32 bits) and range.
  void SetAddress(const Operand& operand, Space space, Instruction* i);
  // Appends to Code::lists; returns where.
  int32_t AddList(const std::vector<Slot>& slots);
  // The elements of a vector, or the operand alone.
  static std::vector<const Operand*> Elements(const Operand& operand);

  // Appends, with the guard and the line of the statement.
  Instruction& Emit(const Statement& s, const Instruction& i);
  Instruction& Emit(const Statement& s, Handler run, Slot d, Slot a = -1, Slot b = -1, Slot c = -1);

  // A .param variable of this function: not an entry's parameter.
  const Code::Parameter* ParamSlot(const Operand& operand);
  // Byte offset of an entry's parameter in the launch's parameters, or -1.
  int64_t EntryOffset(const Operand& operand) const;
  bool is_entry() const { return function_.is_entry; }
  // The index of the function in the kernel's code; it will be decoded. -1 with an error if there is none.
  int Callee(const std::string& name);
  // Branches are resolved at the end: `label` goes to instruction `at`, field x.
  void BranchTo(const std::string& label, int32_t at) { branches_.emplace_back(at, label); }
  const std::vector<std::string>* Targets(const std::string& label) const;
  int32_t next() const { return static_cast<int32_t>(code_->instructions.size()); }
  // Indirect branches: `list` of Code::lists to be filled with instructions.
  void TableOf(const std::vector<std::string>& labels, int32_t list);

  Kernel* kernel() { return kernel_->kernel; }
  Code* code() { return code_; }
  // Notes an access that may be to shared memory, of elements of `bytes`.
  void NoteAccess(int bytes);

 private:
  Slot NewSlot(int bytes);
  Slot Special(const std::string& name, int bytes);
  Slot AddressSlot(const Operand& operand, int bytes);
  uint64_t AddressOf(const Operand& operand);
  void DecodeStatement(const Statement& s);
  void ResolveBranches();
  void PlaceVariables();

  KernelDecoder* kernel_;
  const Function& function_;
  Code* code_;
  std::vector<Slot> registers_;
  std::vector<int64_t> variable_address_;  // of shared and local variables; of param ones: index + 1 in params_
  std::vector<Code::Parameter> params_;
  std::map<std::pair<int, uint64_t>, Slot> constants_;
  std::map<std::pair<int, int64_t>, Slot> local_addresses_;
  std::map<std::string, Slot> specials_;
  std::map<std::string, int32_t> labels_;
  std::map<std::string, std::vector<std::string>> tables_;
  std::vector<std::pair<int32_t, std::string>> branches_;
  std::vector<std::pair<int32_t, std::string>> table_entries_;  // place in lists, label
  Slot carry_ = -1, sink_ = -1;
  const Statement* statement_ = nullptr;
  absl::Status status_;
};

// The reconvergence points of branches: for each instruction that may branch, the instruction at which its ways meet
// again (the immediate postdominator's first), -1 if they do not. Puts a Reconverge marker before each such point.
// Branch targets are in x of branches, and in the lists of indirect ones.
void PlaceReconvergence(Code* code);

// Handlers that the control flow analysis must know.
void Branch(Warp& w, const Instruction& i, uint32_t mask);          // x: target; a: predicate or -1; y: negated
void IndirectBranch(Warp& w, const Instruction& i, uint32_t mask);  // a: index; list, count: targets
void Return(Warp& w, const Instruction& i, uint32_t mask);
void Exit(Warp& w, const Instruction& i, uint32_t mask);
void Trap(Warp& w, const Instruction& i, uint32_t mask);
void Reconverge(Warp& w, const Instruction& i, uint32_t mask);  // x: its own index

}  // namespace xc::emulator

#endif  // XC_BACKENDS_GPU_EMULATOR_DECODER_H_
