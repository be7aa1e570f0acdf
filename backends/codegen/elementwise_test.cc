// The table of elementwise ops that can be emitted (compiler/fuse/emittable.h) promises no more than the emitter has.
#include "backends/codegen/elementwise.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "compiler/fuse/emittable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace xc::codegen {
namespace {

// Emits the op on arguments of `type`, and of the types that go with it.
absl::Status Emit(HloOpcode opcode, ElementType type) {
  llvm::LLVMContext context;
  llvm::Module module("m", context);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), {}, false),
                                          llvm::Function::ExternalLinkage, "f", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", function));
  ElementEmitter emitter(builder, CodegenTarget());
  int64_t operands = opcode == HloOpcode::kSelect || opcode == HloOpcode::kClamp ? 3 : 2;
  std::vector<std::unique_ptr<HloInstruction>> parameters;
  std::vector<HloInstruction*> pointers;
  std::vector<Element> elements;
  for (int64_t i = 0; i < operands; ++i) {
    const ElementType of = opcode == HloOpcode::kSelect && i == 0 ? ElementType::kPred : type;
    parameters.push_back(HloInstruction::CreateParameter(i, Shape(of, {}), "p"));
    pointers.push_back(parameters.back().get());
    elements.push_back(emitter.Constant(of, 1));
  }
  ElementType result = type;
  if (opcode == HloOpcode::kCompare || opcode == HloOpcode::kIsFinite) result = ElementType::kPred;
  if (opcode == HloOpcode::kReal || opcode == HloOpcode::kImag || (opcode == HloOpcode::kAbs && IsComplex(type))) {
    result = ComplexComponent(type);
  }
  auto instruction = HloInstruction::Create(opcode, Shape(result, {}), pointers);
  if (opcode == HloOpcode::kCompare) instruction->set_attr<AttrKind::kDirection>(CompareDirection::kEq);
  if (opcode == HloOpcode::kReducePrecision) {
    instruction->set_attr<AttrKind::kExponentBits>(5);
    instruction->set_attr<AttrKind::kMantissaBits>(10);
  }
  return EmitElementwise(emitter, *instruction, elements).status();
}

// Quotients by a constant: instructions that divide, of floats or of integers by what is no constant.
TEST(Elementwise, ConstantDivisorsStayConstant) {
  for (bool is_signed : {false, true}) {
    llvm::LLVMContext context;
    llvm::Module module("m", context);
    auto* lanes = llvm::FixedVectorType::get(llvm::Type::getInt32Ty(context), 16);
    auto* function = llvm::Function::Create(llvm::FunctionType::get(lanes, {lanes}, false),
                                            llvm::Function::ExternalLinkage, "f", module);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", function));
    ElementEmitter emitter(builder, CodegenTarget());
    const ElementType type = is_signed ? ElementType::kS32 : ElementType::kU32;
    auto p = HloInstruction::CreateParameter(0, Shape(type, {}), "p");
    auto divide = HloInstruction::Create(HloOpcode::kDivide, Shape(type, {}), {p.get(), p.get()});
    const Element operands[] = {Element{function->getArg(0)}, Element{llvm::ConstantInt::get(lanes, 107)}};
    ASSERT_TRUE(EmitElementwise(emitter, *divide, operands).ok());
    for (const llvm::Instruction& i : *builder.GetInsertBlock()) {
      EXPECT_NE(i.getOpcode(), llvm::Instruction::FDiv);
      EXPECT_TRUE(!i.isIntDivRem() || llvm::isa<llvm::Constant>(i.getOperand(1)));
    }
  }
}

TEST(Elementwise, WhatIsKnownHasCode) {
  int known = 0;
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto opcode = static_cast<HloOpcode>(i);
    if (!IsElementwise(opcode)) continue;
    for (ElementType type : {ElementType::kPred, ElementType::kS32, ElementType::kU8, ElementType::kS4,
                             ElementType::kF32, ElementType::kF64, ElementType::kBF16, ElementType::kC64}) {
      // Complex numbers have no complex parts.
      if (!IsKnownElementwise(opcode, type) || (opcode == HloOpcode::kComplex && IsComplex(type))) continue;
      ++known;
      const absl::Status status = Emit(opcode, type);
      EXPECT_TRUE(status.ok()) << OpcodeName(opcode) << " of " << ElementTypeName(type) << ": " << status;
    }
  }
  EXPECT_GT(known, 200);
}

}  // namespace
}  // namespace xc::codegen
