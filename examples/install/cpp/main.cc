// Compiles a module, runs it, and prints where its time goes; links with the installed library (CMakeLists.txt).
#include <iostream>
#include <vector>
#include <xc/xc.hpp>

static const char kModule[] = R"(HloModule layer
ENTRY layer {
  x = f32[64,256] parameter(0)
  w = f32[256,128] parameter(1)
  p = f32[64,128] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT y = f32[64,128] tanh(p)
}
)";

int main(int argc, char** argv) {
  const auto fail = [](const xc::Status& status) {
    std::cerr << "error: " << status.message() << "\n";
    return 2;
  };
  xc::Result<xc::Executable> program =
      argc > 1 ? xc::Executable::CompileFile(argv[1], "profile=1") : xc::Executable::Compile(kModule, "profile=1");
  if (!program.ok()) return fail(program.status());
  std::vector<std::vector<char>> memory;
  std::vector<xc::Input> inputs;
  std::vector<xc::Output> outputs;
  for (const xc::Shape& shape : program->Inputs()) {
    memory.emplace_back(shape.bytes);
    inputs.push_back({memory.back().data(), shape.bytes});
  }
  for (const xc::Shape& shape : program->Outputs()) {
    memory.emplace_back(shape.bytes);
    outputs.push_back({memory.back().data(), shape.bytes});
  }
  if (xc::Status status = program->Run(inputs, outputs); !status.ok()) return fail(status);
  std::cout << "ran: " << inputs.size() << " inputs, " << outputs.size() << " outputs\n";
  xc::Result<xc::Profile> profile = program->Profile(inputs, outputs);
  if (!profile.ok()) return fail(profile.status());
  std::cout << profile->Table();
  // Errors are values.
  const xc::Status wrong = program->Run({}, outputs);
  std::cout << "without inputs: " << wrong.message() << "\n";
  return wrong.ok() ? 1 : 0;
}
