// Runs a libFuzzer entry point without libFuzzer, over a fixed corpus: the seed modules as text or as messages (by the
// first argument), and damaged copies of them.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "hlo/io.h"
#include "tests/fuzz/mutants.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  const bool messages = argc > 1 && std::strcmp(argv[1], "messages") == 0;
  int64_t inputs = 0;
  const auto run = [&](const std::string& input) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
    ++inputs;
  };
  xc::Random random(3);
  for (const std::string& seed : xc::SeedModules()) {
    std::string input = seed;
    if (messages) {
      auto module = xc::ReadModule(seed);
      if (!module.ok()) return 1;
      auto bytes = xc::WriteModule(**module, xc::ModuleFormat::kBinaryProto);
      if (!bytes.ok()) return 1;
      input = *bytes;
    }
    run(input);
    for (int n = 0; n < 1000; ++n) {
      if (!messages && n % 2 == 0) {
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
  return inputs > 5000 ? 0 : 1;
}
