// A cluster run by TensorFlow's own kernels, in a session of its own that takes the graph as it is.
#ifndef XC_JIT_TENSORFLOW_HOST_SESSION_H_
#define XC_JIT_TENSORFLOW_HOST_SESSION_H_

#include <memory>
#include <mutex>
#include <vector>

#include "tensorflow/core/public/session.h"

namespace xc_tensorflow {

class HostSession {
 public:
  // Runs the graph (its session is made at the first call with these bytes, which stay where they are) on `args`, in
  // the calling thread. A call hands over tensors by number, so that one iteration of a loop costs little.
  absl::Status Run(const char* graph_def, size_t size, const std::vector<tensorflow::Tensor>& args, int num_results,
                   std::vector<tensorflow::Tensor>* results);

 private:
  struct Prepared;
  std::mutex mutex_;
  const char* graph_def_ = nullptr;  // what the session was made from
  std::shared_ptr<const Prepared> prepared_;
};

}  // namespace xc_tensorflow

#endif  // XC_JIT_TENSORFLOW_HOST_SESSION_H_
