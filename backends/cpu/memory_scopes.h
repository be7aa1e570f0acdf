// Alias information for LLVM: the blocks of memory that a program works in (arena, parameters, outputs, constants) do
// not overlap.
#ifndef XC_BACKENDS_CPU_MEMORY_SCOPES_H_
#define XC_BACKENDS_CPU_MEMORY_SCOPES_H_

namespace llvm {
class Function;
class Instruction;
}  // namespace llvm

namespace xc::cpu {

// Marks `load`, which loads the address of a block. Memory that is reached through it is reached through no other
// marked load.
void MarkBase(llvm::Instruction* load);

// Gives each load and store of `function` that goes through a marked address the block's alias scope. To be run after
// kernels are inlined.
void AddMemoryScopes(llvm::Function& function);

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_MEMORY_SCOPES_H_
