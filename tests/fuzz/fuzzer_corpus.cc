// Runs a libFuzzer entry point without libFuzzer, over a fixed corpus: the seed modules as text or as messages, graphs
// as text, or files (by the first argument), and damaged copies of them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "hlo/io.h"
#include "tests/fuzz/mutants.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

// A v1 loop, and calls of functions, one of them from a branch.
constexpr const char* kGraphs[] = {
    R"(node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_INT32 } } }
node { name: 'n' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
  attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 5 } } } }
node { name: 'enter' op: 'Enter' input: 'x' attr { key: 'T' value { type: DT_INT32 } }
  attr { key: 'frame_name' value { s: 'loop' } } }
node { name: 'limit' op: 'Enter' input: 'n' attr { key: 'T' value { type: DT_INT32 } }
  attr { key: 'frame_name' value { s: 'loop' } } attr { key: 'is_constant' value { b: true } } }
node { name: 'merge' op: 'Merge' input: 'enter' input: 'next' attr { key: 'T' value { type: DT_INT32 } }
  attr { key: 'N' value { i: 2 } } }
node { name: 'less' op: 'Less' input: 'merge' input: 'limit' attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'cond' op: 'LoopCond' input: 'less' }
node { name: 'switch' op: 'Switch' input: 'merge' input: 'cond' attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'add' op: 'AddV2' input: 'switch:1' input: 'switch:1' attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'next' op: 'NextIteration' input: 'add' attr { key: 'T' value { type: DT_INT32 } } }
node { name: 'exit' op: 'Exit' input: 'switch' attr { key: 'T' value { type: DT_INT32 } } }
)",
    R"(node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
node { name: 'p' op: 'Placeholder' attr { key: 'dtype' value { type: DT_BOOL } } }
node { name: 'call' op: 'PartitionedCall' input: 'x' attr { key: 'Tin' value { list { type: DT_FLOAT } } }
  attr { key: 'Tout' value { list { type: DT_FLOAT } } } attr { key: 'f' value { func { name: 'twice' } } } }
node { name: 'if' op: 'StatelessIf' input: 'p' input: 'call' attr { key: 'Tcond' value { type: DT_BOOL } }
  attr { key: 'Tin' value { list { type: DT_FLOAT } } } attr { key: 'Tout' value { list { type: DT_FLOAT } } }
  attr { key: 'then_branch' value { func { name: 'twice' } } } attr { key: 'else_branch' value { func { name: 'twice' } } } }
library { function {
  signature { name: 'twice' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'b' type: DT_FLOAT } }
  node_def { name: 'sum' op: 'AddV2' input: 'a' input: 'a' attr { key: 'T' value { type: DT_FLOAT } } }
  ret { key: 'b' value: 'sum:z:0' } } }
)"};

// Arrays as NumPy writes them, and a block of a table.
std::vector<std::string> Files() {
  const auto npy = [](std::string header, const std::string& data) {
    header.resize(118, ' ');
    return std::string("\x93NUMPY\x01\x00v\x00", 10) + header + data;
  };
  return {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", std::string(24, 'a')),
          npy("{'descr': '<i8', 'fortran_order': True, 'shape': (1, 2), }", std::string(16, 'b')),
          npy("{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }", "abcdef"),
          std::string("\0\1\1kv\1\1\1ew\0\0\0\0\1\0\0\0", 18)};
}

std::vector<std::string> Seeds(const std::string& kind) {
  if (kind == "graphs") return {std::begin(kGraphs), std::end(kGraphs)};
  if (kind == "files") return Files();
  std::vector<std::string> seeds = xc::SeedModules();
  if (kind != "messages") return seeds;
  for (std::string& seed : seeds) {
    auto module = xc::ReadModule(seed);
    auto bytes = module.ok() ? xc::WriteModule(**module, xc::ModuleFormat::kBinaryProto) : module.status();
    if (!bytes.ok()) std::abort();
    seed = *bytes;
  }
  return seeds;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "texts";
  const bool tokens = kind == "texts" || kind == "graphs";
  int64_t inputs = 0;
  const auto run = [&](const std::string& input) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
    ++inputs;
  };
  xc::Random random(3);
  for (const std::string& input : Seeds(kind)) {
    run(input);
    for (int n = 0; n < 1000; ++n) {
      if (tokens && n % 2 == 0) {
        run(xc::MutateTokens(input, random));
        continue;
      }
      // Bytes changed, removed or repeated.
      std::string damaged = input;
      for (int64_t edits = 1 + random.Below(3); edits > 0; --edits) {
        const int64_t at = random.Below(damaged.size());
        switch (random.Below(4)) {
          case 0:
            damaged[at] = static_cast<char>(random.Next());
            break;
          case 1:
            damaged[at] = static_cast<char>(damaged[at] ^ (1 << random.Below(8)));
            break;
          case 2:
            damaged.erase(at, 1 + random.Below(4));
            break;
          default:
            damaged.insert(at, damaged.substr(random.Below(damaged.size()), 1 + random.Below(8)));
        }
        if (damaged.empty()) damaged = "x";
      }
      run(damaged);
    }
  }
  std::printf("%lld inputs\n", static_cast<long long>(inputs));
  return inputs > 2000 ? 0 : 1;
}
