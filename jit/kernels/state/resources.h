// What a session keeps between runs, by name: variables, lookup tables.
#ifndef XC_JIT_KERNELS_STATE_RESOURCES_H_
#define XC_JIT_KERNELS_STATE_RESOURCES_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "jit/graph/tensor.h"

namespace xc {

// Thread-safe.
class ResourceStore {
 public:
  // The variable of this name; made without a value when it is asked for first.
  std::shared_ptr<Variable> GetVariable(const std::string& name, DataType type);
  // The resource of this name, which `make` makes when it is asked for first.
  std::shared_ptr<HostResource> Get(const std::string& name,
                                    const std::function<std::shared_ptr<HostResource>()>& make);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Variable>> variables_;
  std::map<std::string, std::shared_ptr<HostResource>> resources_;
};

}  // namespace xc

#endif  // XC_JIT_KERNELS_STATE_RESOURCES_H_
