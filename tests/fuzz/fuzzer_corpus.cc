// Runs a libFuzzer entry point without libFuzzer, over a fixed corpus (by the first argument: the seed modules as text
// or as messages, StableHLO, graphs as text, files, programs of the compile cache or compiled ahead of time, or
// options), and damaged copies of it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/loader/program_file.h"
#include "importers/io.h"
#include "proto/program.pb.h"
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
  // A header after which elements lie at an odd place; columns first, so that they are not copied as they are.
  const std::string odd = "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }    \n";
  return {std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(odd.size()) + '\0' + odd + std::string(24, 'o'),
          npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", std::string(24, 'a')),
          npy("{'descr': '<i8', 'fortran_order': True, 'shape': (1, 2), }", std::string(16, 'b')),
          npy("{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }", "abcdef"),
          std::string("\0\1\1kv\1\1\1ew\0\0\0\0\1\0\0\0", 18)};
}

// A program as the compile cache keeps it: a result in a parameter, a call, an instruction of the module kept.
std::vector<std::string> Programs() {
  xc::pb::ProgramProto proto;
  proto.set_entry("main");
  proto.add_objects("code");
  proto.set_arena_bytes(64);
  proto.add_parameters()->set_bytes(16);
  proto.add_constants("constant");
  auto* output = proto.add_outputs();
  output->set_bytes(8);
  output->set_in_parameter(true);
  output->set_offset(8);
  auto* call = proto.add_calls();
  call->set_target("TopK");
  call->set_backend_config("{k = 2 : i64}");
  for (xc::pb::ShapeProto* shape : {call->add_inputs(), call->add_outputs()}) {
    shape->set_element_type(xc::pb::F32);
    shape->add_dimensions(4);
    shape->mutable_layout()->add_minor_to_major(0);
  }
  proto.add_fallbacks("n");
  proto.add_reasons("why");
  proto.set_module("HloModule m ENTRY e { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }");
  return {proto.SerializeAsString()};
}

// A program compiled ahead of time.
std::vector<std::string> Compiled() {
  const std::string image(4096 + 64, '\xC3'), constant(100, 'c');
  xc::ProgramFile file;
  file.name = "m";
  file.cpus = {"x86-64-v3"};
  file.constants = {constant};
  xc::CodeImage code;
  code.bytes = image;
  code.text_bytes = 4096;
  code.import_slots = 4096;
  code.imports = {"memcpy"};
  file.codes = {code};
  std::vector<std::vector<int64_t>> rows;
  for (int64_t n = 2; n < 7; ++n) {
    xc::FileSizes sizes;
    sizes.inputs = {{11, {2, n}, {1, 0}, {false, false}, 8 * n}};
    sizes.outputs = {{11, {4}, {0}, {true}, 16}, {17, {}, {}, {}, 0}};
    xc::FileVariant v;
    v.table = {n * n, n * n * n, n % 3 * 1000000};
    v.parameters = {{8 * n, true}};
    v.outputs = {{16, 0, 8 * n - 16}, {4, -1, 0}, {0, -1, 0}};
    v.constants = {0};
    v.calls = {{"TopK", "{k = 2 : i64}", true, sizes.inputs, sizes.inputs}};
    sizes.variants = {v};
    rows.push_back(file.RowOf(sizes));
  }
  file.groups = {xc::NumberRows({rows[0]}, 2), xc::NumberRows(rows, 2)};
  return {xc::WriteProgramFile(file)};
}

// Of the C API, of bundles, of the plugin, of the command line.
std::vector<std::string> OptionTexts() {
  return {"platform=cpu\nmax_nesting=10\nkeep_texts=1\ncompile_timeout_s=9\ncompile_threads=2\ncache_dir=c\n",
          "platform=interpreter\ncpu=x86-64-v2\ndisabled_passes=all\nuntil_pass=\n",
          "policy=lazy\nmin_cluster_size=3\nlazy_runs=2\nallow=Add,Mul\ndump_dir=d\nlog=0\n",
          "--count=3\n--noflag\n--ratio\n0.25\n--name=x\nfile\n--\n-o\n"};
}

std::vector<std::string> Seeds(const std::string& kind) {
  if (kind == "programs") return Programs();
  if (kind == "compiled") return Compiled();
  if (kind == "options") return OptionTexts();
  if (kind == "graphs") return {std::begin(kGraphs), std::end(kGraphs)};
  if (kind == "files") return Files();
  if (kind == "stablehlo") return xc::StableHloSeeds();
  if (kind == "bytecode") return xc::BytecodeSeeds();
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
  const bool tokens = kind == "texts" || kind == "stablehlo" || kind == "graphs" || kind == "options";
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
  return inputs > 1000 ? 0 : 1;
}
