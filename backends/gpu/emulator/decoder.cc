#include "backends/gpu/emulator/decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace xc::emulator {
namespace {

constexpr int64_t kMostFrameBytes = int64_t{1} << 28;

struct SpecialRow {
  const char* name;
  SpecialRegister special;
};
constexpr SpecialRow kSpecials[] = {
    {"%tid.x", SpecialRegister::kTidX},
    {"%tid.y", SpecialRegister::kTidY},
    {"%tid.z", SpecialRegister::kTidZ},
    {"%ntid.x", SpecialRegister::kNtidX},
    {"%ntid.y", SpecialRegister::kNtidY},
    {"%ntid.z", SpecialRegister::kNtidZ},
    {"%ctaid.x", SpecialRegister::kCtaidX},
    {"%ctaid.y", SpecialRegister::kCtaidY},
    {"%ctaid.z", SpecialRegister::kCtaidZ},
    {"%nctaid.x", SpecialRegister::kNctaidX},
    {"%nctaid.y", SpecialRegister::kNctaidY},
    {"%nctaid.z", SpecialRegister::kNctaidZ},
    {"%laneid", SpecialRegister::kLaneId},
    {"%warpid", SpecialRegister::kWarpId},
    {"%nwarpid", SpecialRegister::kNwarpId},
    {"%smid", SpecialRegister::kSmId},
    {"%nsmid", SpecialRegister::kNsmId},
    {"%gridid", SpecialRegister::kGridId},
    {"%lanemask_eq", SpecialRegister::kLaneMaskEq},
    {"%lanemask_le", SpecialRegister::kLaneMaskLe},
    {"%lanemask_lt", SpecialRegister::kLaneMaskLt},
    {"%lanemask_ge", SpecialRegister::kLaneMaskGe},
    {"%lanemask_gt", SpecialRegister::kLaneMaskGt},
    {"%dynamic_smem_size", SpecialRegister::kDynamicSharedBytes},
    {"%total_smem_size", SpecialRegister::kTotalSharedBytes},
    // A launch has no clusters of more than one block.
    {"%cluster_ctarank", SpecialRegister::kZero},
    {"%cluster_ctaid.x", SpecialRegister::kZero},
    {"%cluster_nctarank", SpecialRegister::kOne},
    {"%cluster_nctaid.x", SpecialRegister::kOne},
};

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

const std::unordered_map<std::string, void (*)(Decoder&, const Statement&)>& DecodeTable() {
  static const auto* table = [] {
    auto* made = new std::unordered_map<std::string, void (*)(Decoder&, const Statement&)>();
    for (absl::Span<const DecodeRow> rows :
         {IntegerOps(), BitOps(), CompareOps(), FloatOps(), FunctionOps(), ConvertOps(), MoveOps(), MemoryOps(),
          AtomicOps(), ControlOps(), WarpOps(), MatrixOps(), CopyOps()}) {
      for (const DecodeRow& row : rows) (*made)[row.op] = row.decode;
    }
    return made;
  }();
  return *table;
}

}  // namespace

Decoder::Decoder(KernelDecoder* kernel, const Function& function, Code* code)
    : kernel_(kernel), function_(function), code_(code) {}

void Decoder::Fail(absl::string_view what) {
  if (!status_.ok()) return;
  std::string text = absl::StrCat("PTX line ", statement_ ? statement_->line : function_.line, ", function ",
                                  function_.name, ": ", what);
  if (statement_ && !statement_->op.empty()) absl::StrAppend(&text, ": ", statement_->Text());
  status_ = absl::UnimplementedError(text);
}

bool Decoder::Operands(const Statement& s, size_t least, size_t most) {
  if (s.operands.size() >= least && s.operands.size() <= most) return true;
  Fail(absl::StrCat("has ", s.operands.size(), " operands, not ", least));
  return false;
}

Slot Decoder::NewSlot(int bytes) {
  const int64_t top = code_->frame_bytes;
  const int64_t end = top + RoundUp(static_cast<int64_t>(bytes) * kLanes, 64);
  if (end > kMostFrameBytes) {
    Fail("the registers take too much memory");
    return 0;
  }
  code_->frame_bytes = static_cast<int32_t>(end);
  return static_cast<Slot>(top);
}

Slot Decoder::Scratch(int bytes) { return NewSlot(bytes); }

Slot Decoder::Constant(uint64_t bits, int bytes) {
  if (bytes < 8) bits &= (uint64_t{1} << (8 * bytes)) - 1;
  const auto [found, is_new] = constants_.try_emplace({bytes, bits}, 0);
  if (is_new) {
    found->second = NewSlot(bytes);
    code_->constants.push_back({found->second, bytes, bits});
  }
  return found->second;
}

Slot Decoder::Carry() {
  if (carry_ < 0) carry_ = NewSlot(2);
  return carry_;
}

Slot Decoder::Special(const std::string& name, int bytes) {
  if (name == "%envreg0" || bytes != 4) {
    Fail(absl::StrCat(name, " is not read as a value of ", bytes, " bytes"));
    return 0;
  }
  const auto found = specials_.find(name);
  if (found != specials_.end()) return found->second;
  for (const SpecialRow& row : kSpecials) {
    if (name != row.name) continue;
    const Slot slot = NewSlot(4);
    code_->specials.emplace_back(row.special, slot);
    specials_[name] = slot;
    return slot;
  }
  Fail(absl::StrCat("unknown register ", name));
  return 0;
}

uint64_t Decoder::AddressOf(const Operand& operand) {
  const uint64_t offset = static_cast<uint64_t>(operand.offset);
  if (operand.kind == Operand::kVariable) {
    const Variable& v = function_.variables[static_cast<size_t>(operand.index)];
    if (v.space == Space::kParam) {
      const int64_t entry = EntryOffset(operand);
      if (entry < 0) Fail(absl::StrCat("the address of parameter ", v.name, " is not known"));
      return static_cast<uint64_t>(entry);  // with the offset
    }
    return static_cast<uint64_t>(variable_address_[static_cast<size_t>(operand.index)]) + offset;
  }
  const auto shared = kernel_->shared.find(operand.name);
  if (shared != kernel_->shared.end()) return static_cast<uint64_t>(shared->second) + offset;
  const auto found = kernel_->symbols->find(operand.name);
  if (found != kernel_->symbols->end()) return found->second + offset;
  Fail(absl::StrCat("unknown name ", operand.name));
  return 0;
}

Slot Decoder::Source(const Operand& operand, Type type) {
  int bytes = BytesOf(type);
  const int wanted = bytes;
  const Slot slot = SourceOfAnySize(operand, type, &bytes);
  if (bytes != wanted) Fail(absl::StrCat("operand ", operand.name, " has ", bytes, " bytes, not ", wanted));
  return slot;
}

Slot Decoder::SourceOfAnySize(const Operand& operand, Type type, int* bytes) {
  *bytes = BytesOf(type);
  switch (operand.kind) {
    case Operand::kRegister:
      *bytes = BytesOf(function_.registers[static_cast<size_t>(operand.index)].type);
      return registers_[static_cast<size_t>(operand.index)];
    case Operand::kSpecial:
      return Special(operand.name, *bytes);
    case Operand::kImmediate: {
      uint64_t bits = operand.bits;
      if (type == Type::kF32 && operand.is_double) {
        double wide;
        std::memcpy(&wide, &bits, 8);
        const float narrow = static_cast<float>(wide);
        bits = 0;
        std::memcpy(&bits, &narrow, 4);
      } else if (type == Type::kF64 && operand.is_single) {
        float narrow;
        std::memcpy(&narrow, &bits, 4);
        const double wide = narrow;
        std::memcpy(&bits, &wide, 8);
      } else if (type == Type::kPred) {
        Fail("a predicate cannot be an immediate here");
      }
      return Constant(bits, *bytes);
    }
    case Operand::kVariable:
    case Operand::kSymbol:
      if (*bytes < 4) Fail("an address needs 32 or 64 bits");
      return AddressSlot(operand, *bytes);
    case Operand::kSink:
    case Operand::kVector:
    case Operand::kLabel:
      break;
  }
  Fail("an operand of this form cannot be a source");
  return 0;
}

Slot Decoder::Result(const Operand& operand, Type type) {
  int bytes = BytesOf(type);
  const Slot slot = ResultOfAnySize(operand, &bytes);
  if (bytes != BytesOf(type)) {
    Fail(absl::StrCat("result ", operand.name, " has ", bytes, " bytes, not ", BytesOf(type)));
  }
  return slot;
}

Slot Decoder::ResultOfAnySize(const Operand& operand, int* bytes) {
  if (operand.kind == Operand::kSink) {
    if (sink_ < 0) sink_ = NewSlot(16);
    return sink_;
  }
  if (operand.kind != Operand::kRegister) {
    Fail("a result must be a register");
    return 0;
  }
  *bytes = BytesOf(function_.registers[static_cast<size_t>(operand.index)].type);
  return registers_[static_cast<size_t>(operand.index)];
}

Slot Decoder::PredicateSource(const Operand& operand, bool* negated) {
  *negated = operand.negated;
  if (operand.kind != Operand::kRegister ||
      function_.registers[static_cast<size_t>(operand.index)].type != Type::kPred) {
    Fail("expected a predicate");
    return 0;
  }
  return registers_[static_cast<size_t>(operand.index)];
}

void Decoder::SetAddress(const Operand& operand, Space space, Instruction* i) {
  if (!operand.is_address) Fail("expected an address in brackets");
  i->x = static_cast<int32_t>(space);
  i->range = kernel()->num_ranges++;
  if (operand.kind == Operand::kRegister) {
    int bytes = 8;
    i->a = SourceOfAnySize(operand, Type::kB64, &bytes);
    if (bytes != 8 && bytes != 4) Fail("an address has 32 or 64 bits");
    i->z = bytes == 4;
    i->imm = operand.offset;
  } else if (operand.kind == Operand::kImmediate) {
    i->a = Constant(operand.bits, 8);
    i->imm = operand.offset;
  } else {
    i->a = AddressSlot(operand, 8);
  }
}

Slot Decoder::AddressSlot(const Operand& operand, int bytes) {
  if (operand.kind != Operand::kVariable ||
      function_.variables[static_cast<size_t>(operand.index)].space != Space::kLocal) {
    return Constant(AddressOf(operand), bytes);
  }
  // It depends on what the caller has: made when the function is entered.
  const int64_t offset = variable_address_[static_cast<size_t>(operand.index)] + operand.offset;
  const auto [found, is_new] = local_addresses_.try_emplace({bytes, offset}, 0);
  if (is_new) {
    found->second = NewSlot(bytes);
    code_->local_addresses.push_back({found->second, bytes, offset});
  }
  return found->second;
}

int32_t Decoder::AddList(const std::vector<Slot>& slots) {
  const int32_t at = static_cast<int32_t>(code_->lists.size());
  code_->lists.insert(code_->lists.end(), slots.begin(), slots.end());
  return at;
}

std::vector<const Operand*> Decoder::Elements(const Operand& operand) {
  std::vector<const Operand*> elements;
  if (operand.kind != Operand::kVector) return {&operand};
  for (const Operand& element : operand.elements) elements.push_back(&element);
  return elements;
}

Instruction& Decoder::Emit(const Statement& s, const Instruction& i) {
  code_->instructions.push_back(i);
  Instruction& made = code_->instructions.back();
  made.line = s.line;
  if (s.guard >= 0) {
    if (function_.registers[static_cast<size_t>(s.guard)].type != Type::kPred) Fail("the guard is no predicate");
    made.guard = registers_[static_cast<size_t>(s.guard)];
    made.guard_negated = s.guard_negated;
  }
  return made;
}

Instruction& Decoder::Emit(const Statement& s, Handler run, Slot d, Slot a, Slot b, Slot c) {
  if (run == nullptr) Unknown(s);
  Instruction i;
  i.run = run;
  i.d = d;
  i.a = a;
  i.b = b;
  i.c = c;
  return Emit(s, i);
}

const Code::Parameter* Decoder::ParamSlot(const Operand& operand) {
  if (operand.kind != Operand::kVariable) return nullptr;
  const size_t index = static_cast<size_t>(operand.index);
  if (function_.variables[index].space != Space::kParam || EntryOffset(operand) >= 0) return nullptr;
  return &params_[static_cast<size_t>(variable_address_[index])];
}

int64_t Decoder::EntryOffset(const Operand& operand) const {
  if (operand.kind != Operand::kVariable || !function_.is_entry || operand.index >= function_.num_parameters) return -1;
  return kernel_->kernel->parameters[static_cast<size_t>(operand.index)].offset + operand.offset;
}

int Decoder::Callee(const std::string& name) {
  const auto known = kernel_->code_index.find(name);
  if (known != kernel_->code_index.end()) return known->second;
  for (const Function& f : kernel_->module->functions) {
    if (f.name != name || f.is_declaration || f.is_entry) continue;
    const int index = static_cast<int>(kernel_->kernel->code.size());
    kernel_->code_index[name] = index;
    kernel_->kernel->code.push_back(std::make_unique<Code>());
    kernel_->pending.push_back(&f);
    return index;
  }
  Fail(absl::StrCat("calls ", name, ", which has no body here"));
  return -1;
}

const std::vector<std::string>* Decoder::Targets(const std::string& label) const {
  const auto found = tables_.find(label);
  return found == tables_.end() ? nullptr : &found->second;
}

void Decoder::TableOf(const std::vector<std::string>& labels, int32_t list) {
  for (const std::string& label : labels) table_entries_.emplace_back(list++, label);
}

void Decoder::NoteAccess(int bytes) { kernel()->granule = std::min(kernel()->granule, bytes); }

void Decoder::PlaceVariables() {
  int64_t local = 0;
  for (size_t n = 0; n < function_.variables.size(); ++n) {
    const Variable& v = function_.variables[n];
    int64_t address = 0;
    switch (v.space) {
      case Space::kLocal:
        local = RoundUp(local, v.alignment);
        address = local;
        local += v.bytes;
        break;
      case Space::kShared:
        address = kernel_->shared_top = RoundUp(kernel_->shared_top, v.alignment);
        kernel_->shared_top += v.bytes;
        break;
      case Space::kParam: {
        if (function_.is_entry && static_cast<int>(n) < function_.num_parameters) break;
        const int bytes = static_cast<int>(std::max<int64_t>(v.bytes, 1));
        if (v.bytes > (1 << 16)) Fail(absl::StrCat("parameter ", v.name, " is too large"));
        address = static_cast<int64_t>(params_.size());
        params_.push_back({NewSlot(bytes), bytes});
        break;
      }
      default:
        Fail(absl::StrCat("variable ", v.name, " of a function must be shared, local or param"));
    }
    variable_address_.push_back(address);
  }
  if (local > (int64_t{1} << 19)) Fail("more local memory than 512 KB for each thread");
  code_->local_bytes = RoundUp(local, 16);
}

void Decoder::DecodeStatement(const Statement& s) {
  if (s.op.empty()) {
    if (!s.targets.empty()) {
      tables_[s.label] = s.targets;
    } else if (!labels_.emplace(s.label, next()).second) {
      Fail(absl::StrCat("label ", s.label, " stands twice"));
    }
    return;
  }
  // Opcodes that integers and floats share have a row for each.
  auto found = DecodeTable().end();
  const Type type = s.TypeAt(0);
  if (s.Has("u16x2") || s.Has("s16x2")) found = DecodeTable().find("int " + s.op + " pair");
  if (found == DecodeTable().end() && !IsFloat(type)) found = DecodeTable().find("int " + s.op);
  if (found == DecodeTable().end()) found = DecodeTable().find(s.op);
  if (found == DecodeTable().end()) return Fail("unknown instruction");
  const int32_t before = next();
  found->second(*this, s);
  for (int32_t n = before; n < next(); ++n) {
    if (code_->instructions[static_cast<size_t>(n)].run == nullptr) Unknown(s);
    code_->texts.push_back(s.Text());
  }
}

void Decoder::ResolveBranches() {
  const auto find = [this](const std::string& label) {
    const auto found = labels_.find(label);
    if (found != labels_.end()) return found->second;
    Fail(absl::StrCat("unknown label ", label));
    return 0;
  };
  for (const auto& [at, label] : branches_) code_->instructions[static_cast<size_t>(at)].x = find(label);
  for (const auto& [at, label] : table_entries_) code_->lists[static_cast<size_t>(at)] = find(label);
}

absl::Status Decoder::Decode() {
  code_->name = function_.name;
  if (static_cast<int64_t>(function_.registers.size()) * 256 > kMostFrameBytes) Fail("too many registers");
  for (const Register& r : function_.registers) registers_.push_back(NewSlot(BytesOf(r.type)));
  PlaceVariables();
  // Tables may stand behind the branches that use them.
  for (const Statement& s : function_.body) {
    if (!s.targets.empty()) tables_[s.label] = s.targets;
  }
  for (const Statement& s : function_.body) {
    statement_ = &s;
    if (!status_.ok()) return status_;
    DecodeStatement(s);
  }
  // A function may end without a statement that says so.
  Statement end;
  end.op = "ret";
  Emit(end, function_.is_entry ? Exit : Return, -1);
  code_->texts.push_back("ret");
  statement_ = nullptr;
  ResolveBranches();
  if (!status_.ok()) return status_;
  if (!function_.is_entry) {
    code_->results.assign(params_.begin(), params_.begin() + function_.num_results);
    code_->parameters.assign(params_.begin() + function_.num_results,
                             params_.begin() + function_.num_results + function_.num_parameters);
  }
  PlaceReconvergence(code_);
  return status_;
}

}  // namespace xc::emulator
