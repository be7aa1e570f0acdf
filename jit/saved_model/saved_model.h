// Loads a SavedModel directory into a session: one signature of its graph, with the variables of its checkpoint.
#ifndef XC_JIT_SAVED_MODEL_SAVED_MODEL_H_
#define XC_JIT_SAVED_MODEL_SAVED_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "jit/host/session.h"

namespace xc {

struct SavedModelOptions {
  HostOptions host;
  std::string tag = "serve";
  std::string signature = "serving_default";
};

// Whether the directory holds a SavedModel.
bool IsSavedModel(const std::string& directory);

// Names of the signatures of the graph with the tag, sorted.
absl::StatusOr<std::vector<std::string>> SavedModelSignatures(const std::string& directory, const std::string& tag);

// Inputs and outputs of the session are those of the signature, by its names for them, in the order of these names.
absl::StatusOr<std::unique_ptr<Session>> LoadSavedModel(const std::string& directory, SavedModelOptions options);

}  // namespace xc

#endif  // XC_JIT_SAVED_MODEL_SAVED_MODEL_H_
