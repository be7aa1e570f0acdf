// Reads tensors of a checkpoint: PREFIX.index names them, PREFIX.data-I-of-N hold their bytes.
#ifndef XC_JIT_SAVED_MODEL_CHECKPOINT_H_
#define XC_JIT_SAVED_MODEL_CHECKPOINT_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "jit/graph/tensor.h"
#include "proto/saved_model.pb.h"

namespace xc {

class Checkpoint {
 public:
  static absl::StatusOr<Checkpoint> Open(const std::string& prefix);

  bool Has(const std::string& key) const { return entries_.count(key) != 0; }
  // The tensor, read and checked against its checksum.
  absl::StatusOr<Tensor> Read(const std::string& key) const;
  const std::map<std::string, tf::BundleEntryProto>& entries() const { return entries_; }

 private:
  std::string prefix_;
  int shards_ = 0;
  std::map<std::string, tf::BundleEntryProto> entries_;
};

}  // namespace xc

#endif  // XC_JIT_SAVED_MODEL_CHECKPOINT_H_
