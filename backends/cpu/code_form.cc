#include "backends/cpu/code_form.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/program/executable.h"
#include "hlo/base/status.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/bit.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

namespace xc::cpu {
namespace {

constexpr int64_t kMaxAlignment = 64;

// Whether constants of the type can be read from memory.
bool IsNumberType(const llvm::Type* type) {
  const llvm::Type* scalar = type->getScalarType();
  if (llvm::isa<llvm::ScalableVectorType>(type)) return false;
  if (scalar->isIntegerTy()) return scalar->getIntegerBitWidth() >= 8 && scalar->getIntegerBitWidth() % 8 == 0;
  return scalar->isHalfTy() || scalar->isBFloatTy() || scalar->isFloatTy() || scalar->isDoubleTy();
}

// The scalars of a constant; false if it is more than numbers.
bool ElementsOf(llvm::Constant* constant, std::vector<llvm::Constant*>* elements) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(constant->getType());
  const unsigned count = vector == nullptr ? 1 : vector->getNumElements();
  for (unsigned i = 0; i < count; ++i) {
    llvm::Constant* element = vector == nullptr ? constant : constant->getAggregateElement(i);
    if (element == nullptr || !(llvm::isa<llvm::ConstantInt>(element) || llvm::isa<llvm::ConstantFP>(element))) {
      return false;
    }
    elements->push_back(element);
  }
  return true;
}

// The content of a global that DataPointer made; null for other values.
const llvm::ConstantDataSequential* DataOf(const llvm::Value* value) {
  const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(value);
  if (global == nullptr || !global->isConstant() || !global->hasPrivateLinkage() || !global->hasInitializer()) {
    return nullptr;
  }
  const auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(global->getInitializer());
  return data != nullptr && data->getElementType()->isIntegerTy(8) ? data : nullptr;
}

// Whether the operand could as well be computed, as far as the instruction goes.
bool MayVary(const llvm::Use& use) {
  const auto* i = llvm::cast<llvm::Instruction>(use.getUser());
  switch (i->getOpcode()) {
    case llvm::Instruction::Switch:
    case llvm::Instruction::Alloca:
    case llvm::Instruction::ExtractElement:
    case llvm::Instruction::ShuffleVector:
      return false;
    case llvm::Instruction::InsertElement:
      return use.getOperandNo() < 2;
    case llvm::Instruction::Call: {
      const auto* call = llvm::cast<llvm::CallBase>(i);
      return call->isArgOperand(&use) && !call->paramHasAttr(call->getArgOperandNo(&use), llvm::Attribute::ImmArg);
    }
    default:
      return true;
  }
}

// The operand's bytes if it is a number.
bool ReadNumber(const llvm::Use& use, std::string* bytes) {
  if (!llvm::isa<llvm::Constant>(use.get()) || !MayVary(use)) return false;
  if (const auto* data = DataOf(use.get())) {
    const llvm::StringRef raw = data->getRawDataValues();
    bytes->assign(raw.data(), raw.size());
    return true;
  }
  auto* constant = llvm::cast<llvm::Constant>(use.get());
  if (!IsNumberType(constant->getType())) return false;
  bytes->clear();
  // The frequent ones: one integer of a word, and vectors that are kept as their elements.
  if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(constant);
      integer != nullptr && !constant->getType()->isVectorTy() && integer->getBitWidth() <= 64) {
    const uint64_t word = integer->getZExtValue();
    bytes->assign(reinterpret_cast<const char*>(&word), integer->getBitWidth() / 8);
    return true;
  }
  if (const auto* data = llvm::dyn_cast<llvm::ConstantDataVector>(constant)) {
    const llvm::StringRef raw = data->getRawDataValues();
    bytes->assign(raw.data(), raw.size());
    return true;
  }
  std::vector<llvm::Constant*> elements;
  if (!ElementsOf(constant, &elements)) return false;
  for (llvm::Constant* element : elements) {
    const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(element);
    const llvm::APInt bits = integer != nullptr ? integer->getValue()
                                                : llvm::cast<llvm::ConstantFP>(element)->getValueAPF().bitcastToAPInt();
    for (unsigned at = 0; at < bits.getBitWidth(); at += 8) {
      bytes->push_back(static_cast<char>(bits.extractBitsAsZExtValue(8, at)));
    }
  }
  return true;
}

// Takes in a function without its numbers, which it appends to a form.
class FunctionReader {
 public:
  FunctionReader(CodeForm* form, FingerprintHasher* hasher) : form_(*form), hasher_(*hasher) {}

  void Read(const llvm::Function& function) {
    hasher_.AddText(Text(function.getName()));
    hasher_.Add(function.getLinkage());
    AddType(function.getFunctionType());
    AddAttributes(function.getAttributes());
    numbers_.clear();
    for (const llvm::Argument& argument : function.args()) Name(argument);
    for (const llvm::BasicBlock& block : function) {
      Name(block);
      for (const llvm::Instruction& i : block) Name(i);
    }
    for (const llvm::BasicBlock& block : function) {
      hasher_.Add(block.size());
      for (const llvm::Instruction& i : block) Read(i);
    }
  }

 private:
  static absl::string_view Text(llvm::StringRef s) { return {s.data(), s.size()}; }
  void Name(const llvm::Value& value) { numbers_[&value] = numbers_.size(); }

  void AddType(const llvm::Type* type) {
    auto [it, fresh] = types_.try_emplace(type, 0);
    if (fresh) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      type->print(stream);
      FingerprintHasher hasher;
      hasher.AddText(stream.str());
      it->second = hasher.Finish().low;
    }
    hasher_.Add(it->second);
  }

  void AddAttributes(const llvm::AttributeList& attributes) {
    if (attributes.isEmpty()) return;
    auto [it, fresh] = attributes_.try_emplace(attributes.getRawPointer(), 0);
    if (fresh) {
      FingerprintHasher hasher;
      for (unsigned index : attributes.indexes()) {
        if (attributes.hasAttributesAtIndex(index)) hasher.AddText(attributes.getAsString(index));
        hasher.Add(index);
      }
      it->second = hasher.Finish().low;
    }
    hasher_.Add(it->second);
  }

  void AddText(const llvm::Value& value) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    value.print(stream);
    hasher_.AddText(stream.str());
  }

  void Read(const llvm::Instruction& i) {
    hasher_.Add(i.getOpcode());
    hasher_.Add(i.getRawSubclassOptionalData());
    hasher_.Add(i.getNumOperands());
    AddType(i.getType());
    if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(&i)) hasher_.Add(compare->getPredicate());
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i))
      hasher_.Add(load->getAlign().value() * 2 + load->isVolatile());
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) {
      hasher_.Add(store->getAlign().value() * 2 + store->isVolatile());
    }
    if (const auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(&i)) AddType(gep->getSourceElementType());
    if (const auto* place = llvm::dyn_cast<llvm::AllocaInst>(&i)) {
      AddType(place->getAllocatedType());
      hasher_.Add(place->getAlign().value());
    }
    if (const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&i)) {
      const llvm::ArrayRef<int> mask = shuffle->getShuffleMask();
      hasher_.AddBytes(mask.data(), mask.size() * sizeof(int));
    }
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&i)) {
      AddType(call->getFunctionType());
      AddAttributes(call->getAttributes());
    }
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&i)) {
      for (const llvm::BasicBlock* block : phi->blocks()) hasher_.Add(numbers_.lookup(block));
    }
    // What the instructions above do not say is in no emitted code; extractvalue and the like are taken in as text.
    if (llvm::isa<llvm::ExtractValueInst>(i) || llvm::isa<llvm::InsertValueInst>(i) ||
        llvm::isa<llvm::AtomicRMWInst>(i) || llvm::isa<llvm::AtomicCmpXchgInst>(i) || llvm::isa<llvm::FenceInst>(i)) {
      AddText(i);
    }
    for (const llvm::Use& use : i.operands()) Read(use);
  }

  void Read(const llvm::Use& use) {
    if (ReadNumber(use, &bytes_)) {
      hasher_.Add('#');
      AddType(use->getType());
      hasher_.Add(bytes_.size());
      form_.numbers += bytes_;
      form_.ends.push_back(static_cast<uint32_t>(form_.numbers.size()));
      return;
    }
    if (const auto it = numbers_.find(use.get()); it != numbers_.end()) {
      hasher_.Add('%');
      hasher_.Add(it->second);
    } else if (llvm::isa<llvm::Function>(use.get())) {
      hasher_.Add('@');
      hasher_.AddText(Text(use->getName()));
    } else if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(use.get())) {
      hasher_.Add('i');
      AddType(integer->getType());
      hasher_.Add(integer->getValue().getLimitedValue());
    } else if (llvm::isa<llvm::ConstantPointerNull>(use.get())) {
      hasher_.Add('0');
    } else if (llvm::isa<llvm::UndefValue>(use.get())) {
      hasher_.Add(llvm::isa<llvm::PoisonValue>(use.get()) ? 'p' : 'u');
      AddType(use->getType());
    } else {
      hasher_.Add('c');
      AddType(use->getType());
      AddText(*use.get());
    }
  }

  CodeForm& form_;
  FingerprintHasher& hasher_;
  std::string bytes_;
  llvm::DenseMap<const llvm::Value*, uint64_t> numbers_;
  // Of one context, where they are unique.
  llvm::DenseMap<const llvm::Type*, uint64_t> types_;
  llvm::DenseMap<const void*, uint64_t> attributes_;
};

int64_t AlignmentOf(int64_t bytes) { return std::min<int64_t>(kMaxAlignment, llvm::bit_ceil<uint64_t>(bytes)); }

// A number for people: its value if it is one word, and the module.
std::string Describe(const CodeForm& form, size_t n) {
  const absl::string_view bytes = form.number(n);
  int64_t value = 0;
  std::copy_n(bytes.begin(), std::min(bytes.size(), sizeof(value)), reinterpret_cast<char*>(&value));
  size_t m = 0;
  while (form.modules[m].numbers <= n) ++m;
  return absl::StrCat(bytes.size() > sizeof(value) ? "a constant" : absl::StrCat("number ", value), " of ",
                      form.modules[m].name);
}

// Whether the module is one of kernels, and not of what calls them.
bool HasKernels(const CodeForm::Module& module) { return absl::StartsWith(module.name, kKernelPrefix); }

// Whether number `n` is another one in each sample.
bool AllDiffer(absl::Span<const CodeForm> samples, size_t n) {
  for (size_t a = 0; a < samples.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      if (samples[a].number(n) == samples[b].number(n)) return false;
    }
  }
  return true;
}

// The numbers of a function in the order of FunctionReader.
std::vector<llvm::Use*> NumbersOf(llvm::Function& function) {
  std::vector<llvm::Use*> uses;
  std::string bytes;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& i : block) {
      for (llvm::Use& use : i.operands()) {
        if (ReadNumber(use, &bytes)) uses.push_back(&use);
      }
    }
  }
  return uses;
}

// The table, where the function begins; null if there is no way to it.
llvm::Value* TableOf(llvm::Function& function, llvm::IRBuilder<>& b) {
  for (llvm::Argument& argument : function.args()) {
    if (argument.getName() == kSizesName) return &argument;
    if (argument.getName() == kFrameName) {
      llvm::LoadInst* table = b.CreateLoad(b.getPtrTy(), b.CreateConstGEP1_64(b.getPtrTy(), &argument, kSizesField));
      table->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
      return table;
    }
  }
  return nullptr;
}

}  // namespace

CodeForm FormOf(std::vector<CodeModule>& modules) {
  CodeForm form;
  for (CodeModule& code : modules) {
    FingerprintHasher hasher;
    FunctionReader reader(&form, &hasher);
    for (const llvm::Function& function : code.module()) reader.Read(function);
    for (const llvm::GlobalVariable& global : code.module().globals()) {
      if (DataOf(&global) != nullptr) continue;
      std::string text;
      llvm::raw_string_ostream stream(text);
      global.print(stream);
      hasher.AddText(stream.str());
    }
    form.modules.push_back({code.module().getName().str(), hasher.Finish(), form.ends.size()});
  }
  return form;
}

absl::Status SameForm(const CodeForm& a, const CodeForm& b) {
  const size_t both = std::min(a.modules.size(), b.modules.size());
  for (size_t m = 0; m < both; ++m) {
    if (a.modules[m].fingerprint == b.modules[m].fingerprint) continue;
    return absl::UnimplementedError(absl::StrCat("its code has another form in ", a.modules[m].name));
  }
  if (a.modules.size() != b.modules.size()) {
    return absl::UnimplementedError(
        absl::StrCat("its code has ", b.modules.size(), " modules in the place of ", a.modules.size()));
  }
  return absl::OkStatus();
}

SizeTable::SizeTable(absl::Span<const CodeForm> samples) : first_(samples[0]) {
  std::map<std::string, int32_t> known;
  size_t m = 0;
  for (size_t n = 0; n < first_.ends.size(); ++n) {
    while (first_.modules[m].numbers <= n) ++m;
    std::string values;
    bool differs = false;
    for (const CodeForm& sample : samples) {
      differs |= sample.number(n) != first_.number(n);
      absl::StrAppend(&values, sample.number(n));
    }
    if (!differs) {
      places_.push_back(-1);
      continue;
    }
    const int64_t size = first_.number(n).size(), align = AlignmentOf(size);
    const int64_t place = (bytes_ + align - 1) / align * align;
    // Numbers of pieces and the like are equal to each other only as long as sizes are; those that calls of kernels and
    // of library functions are given are read once anyway.
    if (!AllDiffer(samples, n) || !HasKernels(first_.modules[m])) absl::StrAppend(&values, ":", n);
    auto [it, fresh] = known.try_emplace(absl::StrCat(size, ":", values), static_cast<int32_t>(place));
    if (fresh) bytes_ = place + size;
    places_.push_back(it->second);
  }
}

absl::Status SizeTable::Use(std::vector<CodeModule>& modules) const {
  size_t next = 0;
  for (CodeModule& code : modules) {
    for (llvm::Function& function : code.module()) {
      if (function.isDeclaration()) continue;
      const std::vector<llvm::Use*> uses = NumbersOf(function);
      llvm::IRBuilder<> b(&function.getEntryBlock(), function.getEntryBlock().getFirstInsertionPt());
      llvm::Value* table = nullptr;
      std::map<std::pair<int32_t, llvm::Type*>, llvm::Value*> loaded;
      for (llvm::Use* use : uses) {
        const int32_t place = places_[next++];
        if (place < 0) continue;
        if (table == nullptr) table = TableOf(function, b);
        if (table == nullptr) {
          return absl::UnimplementedError(
              absl::StrCat("sizes are part of ", function.getName().str(), ", which has no way to the table of sizes"));
        }
        llvm::Value* from = use->get();
        const bool data = DataOf(from) != nullptr;
        llvm::Value*& value = loaded[{place, data ? nullptr : from->getType()}];
        if (value == nullptr) {
          value = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), table, place);
          if (!data) {
            const int64_t bytes = static_cast<int64_t>(first_.number(next - 1).size());
            llvm::LoadInst* load = b.CreateAlignedLoad(from->getType(), value, llvm::Align(AlignmentOf(bytes)));
            load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
            value = load;
          }
        }
        use->set(value);
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> SizeTable::Fill(const CodeForm& form) const {
  XC_RETURN_IF_ERROR(SameForm(first_, form));
  std::string table(bytes_, '\0');
  std::vector<bool> filled(bytes_);
  for (size_t n = 0; n < places_.size(); ++n) {
    const absl::string_view number = form.number(n);
    const int32_t place = places_[n];
    if (place < 0) {
      if (number == first_.number(n)) continue;
      return absl::FailedPreconditionError(
          absl::StrCat(Describe(form, n), " is part of the code, where it is ", Describe(first_, n)));
    }
    if (!filled[place]) {
      std::copy(number.begin(), number.end(), table.begin() + place);
      filled[place] = true;
    } else if (absl::string_view(table).substr(place, number.size()) != number) {
      return absl::FailedPreconditionError(absl::StrCat(Describe(form, n), " shares a place with another number"));
    }
  }
  return table;
}

Fingerprint SizeTable::identity() const {
  FingerprintHasher hasher;
  for (const CodeForm::Module& module : first_.modules) {
    hasher.AddText(module.name);
    hasher.Add(module.fingerprint.high);
    hasher.Add(module.fingerprint.low);
    hasher.Add(module.numbers);
  }
  hasher.AddText(first_.numbers);
  for (uint32_t end : first_.ends) hasher.Add(end);
  for (int32_t place : places_) hasher.Add(static_cast<uint32_t>(place));
  return hasher.Finish();
}

int64_t SizeTable::size_bytes() const {
  return static_cast<int64_t>(first_.numbers.size() + (first_.ends.size() + places_.size()) * sizeof(int32_t));
}

}  // namespace xc::cpu
