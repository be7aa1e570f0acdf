// Graphs as text, and sessions of them, for tests.
#ifndef XC_JIT_HOST_SESSION_TESTING_H_
#define XC_JIT_HOST_SESSION_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jit/host/session.h"

namespace xc {

inline std::string N(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                     const std::string& attrs) {
  std::string out = "node { name: '" + name + "' op: '" + op + "' ";
  for (const std::string& i : inputs) out += "input: '" + i + "' ";
  return out + attrs + " } ";
}
inline std::string Type(const std::string& key, const std::string& type) {
  return "attr { key: '" + key + "' value { type: " + type + " } } ";
}
inline std::string Input(const std::string& name, const std::string& type) {
  return N(name, "Placeholder", {}, Type("dtype", type));
}

inline std::unique_ptr<Session> Load(const std::string& text, HostMode mode = HostMode::kJit, LaunchOptions launch = {},
                                     const std::string& platform = "interpreter") {
  auto def = ParseGraphDef(text, true);
  EXPECT_TRUE(def.ok()) << def.status();
  SessionOptions options;
  options.host.mode = mode;
  options.host.launch = std::move(launch);
  options.host.launch.platform = platform;
  options.host.mark.min_cluster_size = 1;
  auto session = Session::Create(*def, options);
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *std::move(session) : nullptr;
}

inline Tensor Floats(const std::vector<float>& v) {
  Tensor t = Tensor::Create(DT_FLOAT, {static_cast<int64_t>(v.size())}).value();
  std::copy(v.begin(), v.end(), t.data<float>());
  return t;
}

}  // namespace xc

#endif  // XC_JIT_HOST_SESSION_TESTING_H_
