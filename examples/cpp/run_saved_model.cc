// Runs a signature of a SavedModel on zeros, linked with the runtime's libraries: what a C++ program without TensorFlow
// does. `bazel run //examples/cpp:run_saved_model -- DIR [SIGNATURE]`.
#include <cstdio>

#include "jit/saved_model/saved_model.h"

namespace {

absl::Status Run(const std::string& directory, const std::string& signature) {
  xc::SavedModelOptions options;
  options.signature = signature;
  absl::StatusOr<std::unique_ptr<xc::Session>> session = xc::LoadSavedModel(directory, options);
  if (!session.ok()) return session.status();
  std::vector<xc::Tensor> inputs;
  for (const xc::TensorInfo& info : (*session)->inputs()) {
    xc::Dims dims = info.shape.dims;
    for (int64_t& d : dims) d = d < 0 ? 1 : d;  // sizes that may vary
    absl::StatusOr<xc::Tensor> zeros = xc::Tensor::Create(info.type, dims);
    if (!zeros.ok()) return zeros.status();
    std::printf("input %s: %s\n", info.name.c_str(), zeros->ShapeString().c_str());
    inputs.push_back(*std::move(zeros));
  }
  absl::StatusOr<std::vector<xc::Tensor>> outputs = (*session)->Run(inputs);
  if (!outputs.ok()) return outputs.status();
  for (size_t i = 0; i < outputs->size(); ++i) {
    std::printf("output %s: %s\n", (*session)->outputs()[i].name.c_str(), (*outputs)[i].Summary().c_str());
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: run_saved_model DIR [SIGNATURE]\n");
    return 2;
  }
  absl::Status status = Run(argv[1], argc == 3 ? argv[2] : "serving_default");
  if (status.ok()) return 0;
  std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  return 2;
}
