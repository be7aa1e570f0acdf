#include "jit/kernels/state/resources.h"

namespace xc {

std::shared_ptr<Variable> ResourceStore::GetVariable(const std::string& name, DataType type) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<Variable>& v = variables_[name];
  if (v == nullptr) {
    v = std::make_shared<Variable>();
    v->name = name;
    v->type = type;
  }
  return v;
}

std::shared_ptr<HostResource> ResourceStore::Get(const std::string& name,
                                                 const std::function<std::shared_ptr<HostResource>()>& make) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<HostResource>& resource = resources_[name];
  if (resource == nullptr) resource = make();
  return resource;
}

}  // namespace xc
