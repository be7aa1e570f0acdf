// Damaged programs for tests: valid modules as text, and token-level edits of them that are the same in every run.
#ifndef XC_TESTS_FUZZ_MUTANTS_H_
#define XC_TESTS_FUZZ_MUTANTS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace xc {

// A small, fast generator (splitmix64): the same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  // 0 … n - 1; n > 0.
  int64_t Below(int64_t n) { return static_cast<int64_t>(Next() % static_cast<uint64_t>(n)); }

 private:
  uint64_t state_;
};

// Valid modules that together use most kinds of syntax and most ops of a single device; none takes long to run.
const std::vector<std::string>& SeedModules();
// Valid StableHLO: functions, regions, attributes in all forms; the last leaves sizes open.
const std::vector<std::string>& StableHloSeeds();
// The same as MLIR bytecode (the first and the last once, the others twice), and a file of jax.export.
const std::vector<std::string>& BytecodeSeeds();

// `text` with one to four tokens replaced, removed, repeated or exchanged: names, numbers, opcodes, types, brackets.
std::string MutateTokens(const std::string& text, Random& random);

}  // namespace xc

#endif  // XC_TESTS_FUZZ_MUTANTS_H_
