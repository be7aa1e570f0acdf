// A cluster run by TensorFlow's own kernels, in a session of its own without clustering.
#ifndef XC_JIT_TENSORFLOW_HOST_SESSION_H_
#define XC_JIT_TENSORFLOW_HOST_SESSION_H_

#include <mutex>
#include <string>
#include <vector>

#include "tensorflow/c/c_api.h"

namespace xc_tensorflow {

class HostSession {
 public:
  HostSession() = default;
  ~HostSession();
  HostSession(const HostSession&) = delete;
  HostSession& operator=(const HostSession&) = delete;

  // Runs the graph (made at the first call from the GraphDef's bytes) on `args`, in the calling thread. The results
  // belong to the caller.
  void Run(const char* graph_def, size_t size, const std::vector<TF_Tensor*>& args, int num_results,
           std::vector<TF_Tensor*>* results, TF_Status* status);

 private:
  void Create(const char* graph_def, size_t size, size_t num_args, int num_results, TF_Status* status);

  std::mutex mutex_;
  TF_Graph* graph_ = nullptr;
  TF_Session* session_ = nullptr;
  std::vector<TF_Output> inputs_, outputs_;
};

}  // namespace xc_tensorflow

#endif  // XC_JIT_TENSORFLOW_HOST_SESSION_H_
