// Compiling, linking and calling a small hand-made module, and the errors of the JIT.
#include "backends/cpu/jit.h"

#include "gtest/gtest.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace xc::cpu {
namespace {

// A module whose function `name` returns callee(x) + addend.
CodeModule MakeModule(const Target& target, const std::string& name, const std::string& callee, int addend) {
  CodeModule code(name, target);
  llvm::IRBuilder<> b(code.context());
  auto* type = llvm::FunctionType::get(b.getInt64Ty(), {b.getInt64Ty()}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, code.module());
  b.SetInsertPoint(llvm::BasicBlock::Create(code.context(), "", function));
  llvm::Value* x = function->getArg(0);
  if (!callee.empty()) x = b.CreateCall(code.module().getOrInsertFunction(callee, type), {x});
  b.CreateRet(b.CreateAdd(x, b.getInt64(addend)));
  return code;
}

int64_t Triple(int64_t x) { return 3 * x; }

TEST(Jit, ModulesCallEachOtherAndBoundSymbols) {
  auto target = GetTarget("");
  ASSERT_TRUE(target.ok()) << target.status();
  for (CodeLevel level : {CodeLevel::kNone, CodeLevel::kFast}) {
    std::vector<CodeModule> modules;
    modules.push_back(MakeModule(*target, "first", "second", 1));
    modules.push_back(MakeModule(*target, "second", "triple", 10));
    CompileOptions options;
    options.target = *target;
    options.level = level;
    options.threads = 2;
    options.keep_ir = options.keep_assembly = true;
    auto code = CompileModules(std::move(modules), {{"triple", reinterpret_cast<void*>(&Triple)}}, {"first"}, options);
    ASSERT_TRUE(code.ok()) << code.status();
    auto* first = reinterpret_cast<int64_t (*)(int64_t)>((*code)->Find("first"));
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first(5), 26);
    EXPECT_EQ((*code)->Find("second"), nullptr);
    EXPECT_NE((*code)->text().ir[0].find("call i64 @second"), std::string::npos);
    EXPECT_NE((*code)->text().assembly[1].find("triple"), std::string::npos);
    EXPECT_GT((*code)->memory_bytes(), 0);
  }
}

TEST(Jit, UnboundSymbolIsAnError) {
  auto target = GetTarget("x86-64-v2");
  ASSERT_TRUE(target.ok()) << target.status();
  std::vector<CodeModule> modules;
  modules.push_back(MakeModule(*target, "f", "nowhere", 1));
  CompileOptions options;
  options.target = *target;
  auto code = CompileModules(std::move(modules), {}, {"f"}, options);
  ASSERT_FALSE(code.ok());
  EXPECT_NE(std::string(code.status().message()).find("linking generated code"), std::string::npos) << code.status();
}

TEST(Jit, MalformedCodeIsAnError) {
  auto target = GetTarget("");
  ASSERT_TRUE(target.ok());
  CodeModule code("bad", *target);
  llvm::IRBuilder<> b(code.context());
  auto* type = llvm::FunctionType::get(b.getInt64Ty(), {}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "bad", code.module());
  b.SetInsertPoint(llvm::BasicBlock::Create(code.context(), "", function));
  b.CreateAdd(b.getInt64(1), b.getInt64(2));
  std::vector<CodeModule> modules;
  modules.push_back(std::move(code));
  CompileOptions options;
  options.target = *target;
  auto compiled = CompileModules(std::move(modules), {}, {"bad"}, options);
  ASSERT_FALSE(compiled.ok());
  EXPECT_NE(std::string(compiled.status().message()).find("malformed"), std::string::npos) << compiled.status();
}

TEST(Jit, CodeGenerationStopsAtTheDeadline) {
  auto target = GetTarget("");
  ASSERT_TRUE(target.ok()) << target.status();
  std::vector<CodeModule> modules;
  modules.push_back(MakeModule(*target, "f", "", 1));
  CompileOptions options;
  options.target = *target;
  options.deadline = absl::InfinitePast();
  auto code = CompileModules(std::move(modules), {}, {"f"}, options);
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(std::string(code.status().message()).find("longer than the compile deadline"), std::string::npos);
}

TEST(Jit, UnknownTargetIsAnError) {
  auto target = GetTarget("pdp11");
  ASSERT_FALSE(target.ok());
  EXPECT_NE(std::string(target.status().message()).find("unknown CPU \"pdp11\""), std::string::npos);
}

}  // namespace
}  // namespace xc::cpu
