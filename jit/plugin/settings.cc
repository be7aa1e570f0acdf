#include "jit/plugin/settings.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// One setting: how it is read from text (false if the text is wrong) and written.
struct Row {
  const char* key;
  const char* allowed;  // what the text may be, for errors
  std::function<bool(const std::string&, PluginSettings*)> read;
  std::function<std::string(const PluginSettings&)> write;
};

Row BoolRow(const char* key, bool& (*field)(PluginSettings&)) {
  return {key, "1 or 0",
          [field](const std::string& text, PluginSettings* s) { return absl::SimpleAtob(text, &field(*s)); },
          [field](PluginSettings s) { return std::string(field(s) ? "1" : "0"); }};
}

Row IntRow(const char* key, int& (*field)(PluginSettings&)) {
  return {key, "a number from 0 to 2147483647",
          [field](const std::string& text, PluginSettings* s) {
            int value = 0;
            if (!absl::SimpleAtoi(text, &value) || value < 0) return false;
            field(*s) = value;
            return true;
          },
          [field](PluginSettings s) { return absl::StrCat(field(s)); }};
}

Row OpsRow(const char* key, std::set<std::string> MarkOptions::*field) {
  return {key, "names of ops with commas between them",
          [field](const std::string& text, PluginSettings* s) {
            std::vector<std::string> ops = absl::StrSplit(text, ',', absl::SkipEmpty());
            s->mark.*field = std::set<std::string>(ops.begin(), ops.end());
            return true;
          },
          [field](const PluginSettings& s) { return absl::StrJoin(s.mark.*field, ","); }};
}

constexpr const char* kPolicies[] = {"now", "lazy", "background"};  // as CompileWhen has them

const std::vector<Row>& Rows() {
  static const auto* rows = new std::vector<Row>{
      BoolRow("enabled", [](PluginSettings& s) -> bool& { return s.enabled; }),
      {"policy", "now, lazy or background",
       [](const std::string& text, PluginSettings* s) {
         for (int i = 0; i < 3; ++i) {
           if (text == kPolicies[i]) {
             s->launch.when = static_cast<CompileWhen>(i);
             return true;
           }
         }
         return false;
       },
       [](const PluginSettings& s) { return std::string(kPolicies[static_cast<int>(s.launch.when)]); }},
      IntRow("min_cluster_size", [](PluginSettings& s) -> int& { return s.mark.min_cluster_size; }),
      OpsRow("allow", &MarkOptions::allow),
      OpsRow("deny", &MarkOptions::deny),
      IntRow("lazy_runs", [](PluginSettings& s) -> int& { return s.launch.lazy_runs; }),
      IntRow("wait_ms", [](PluginSettings& s) -> int& { return s.launch.wait_ms; }),
      IntRow("max_shapes", [](PluginSettings& s) -> int& { return s.launch.max_signatures; }),
      BoolRow("general_shapes", [](PluginSettings& s) -> bool& { return s.launch.general_shapes; }),
      BoolRow("buckets", [](PluginSettings& s) -> bool& { return s.launch.batch_buckets; }),
      IntRow("threads", [](PluginSettings& s) -> int& { return s.threads; }),
      BoolRow("cost_gate", [](PluginSettings& s) -> bool& { return s.launch.cost_gate; }),
      BoolRow("caller_thread", [](PluginSettings& s) -> bool& { return s.caller_thread; }),
      BoolRow("log", [](PluginSettings& s) -> bool& { return s.log; }),
      {"dump_dir", "a folder",
       [](const std::string& text, PluginSettings* s) {
         s->dump_dir = text;
         return true;
       },
       [](const PluginSettings& s) { return s.dump_dir; }},
  };
  return *rows;
}

constexpr char kPrefix[] = "XC_TF_";
// Read by the library that TensorFlow loads, before there are settings.
constexpr char kAnnounce[] = "XC_TF_ANNOUNCE";

std::string VariableOf(const Row& row) { return absl::StrCat(kPrefix, absl::AsciiStrToUpper(row.key)); }

std::vector<std::string> KnownVariables() {
  std::vector<std::string> names = {kAnnounce};
  for (const Row& row : Rows()) names.push_back(VariableOf(row));
  return names;
}

// The environment's names that look like settings and are none.
std::vector<std::string> UnknownVariables() {
  const std::vector<std::string> known = KnownVariables();
  std::vector<std::string> unknown;
  // In a library opened with RTLD_DEEPBIND, `environ` would be the C library's, by dlsym's default search too, and not
  // the one that the process uses.
  const auto* variables = static_cast<char***>(dlsym(dlopen(nullptr, RTLD_LAZY), "environ"));
  for (char** entry = variables == nullptr ? nullptr : *variables; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string name = absl::StrCat(absl::string_view(*entry).substr(0, absl::string_view(*entry).find('=')));
    if (absl::StartsWith(name, kPrefix) && std::find(known.begin(), known.end(), name) == known.end()) {
      unknown.push_back(name);
    }
  }
  return unknown;
}

absl::Status Set(const std::string& key, const std::string& value, PluginSettings* settings) {
  std::vector<std::string> keys;
  for (const Row& row : Rows()) {
    if (key != row.key) {
      keys.push_back(row.key);
      continue;
    }
    if (row.read(value, settings)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("setting '", key, "' cannot be '", value, "'; it is ", row.allowed));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no setting '", key, "'; there are ", absl::StrJoin(keys, ", ")));
}

struct State {
  std::mutex mutex;
  PluginSettings settings;
  // Of `settings`, to be read without the mutex.
  std::atomic<const LaunchPolicy*> policy{nullptr};
  std::atomic<int> threads{0};
  std::atomic<bool> caller_thread{true};
  std::vector<std::unique_ptr<const LaunchPolicy>> policies;  // that ever were in use
  std::vector<void (*)()> listeners;

  State() {
    settings.mark.resources = false;
    for (const Row& row : Rows()) {
      const std::string variable = VariableOf(row);
      const char* text = std::getenv(variable.c_str());
      if (text != nullptr && !row.read(text, &settings)) {
        std::fprintf(stderr, "xla.tf: %s=%s has no effect: it is %s\n", variable.c_str(), text, row.allowed);
      }
    }
    for (const std::string& name : UnknownVariables()) {
      std::fprintf(stderr, "xla.tf: %s has no effect: there is no such setting; there are %s\n", name.c_str(),
                   absl::StrJoin(KnownVariables(), ", ").c_str());
    }
    Publish();
  }

  void Publish() {
    auto same = [&](const auto& p) { return *p == settings.launch; };
    auto known = std::find_if(policies.begin(), policies.end(), same);
    if (known == policies.end()) {
      known = policies.insert(policies.end(), std::make_unique<const LaunchPolicy>(settings.launch));
    }
    policy = known->get();
    threads = settings.threads;
    caller_thread = settings.caller_thread;
  }
};

State& Current() {
  static auto* state = new State;
  return *state;
}

}  // namespace

LaunchPolicy PluginPolicy() {
  LaunchPolicy policy;
  // Calls need not wait: the host's kernels serve as well as without the plugin, and tell what code has to beat.
  policy.when = CompileWhen::kBackground;
  policy.time_host = true;
  return policy;
}

PluginSettings CurrentPluginSettings() {
  std::lock_guard<std::mutex> lock(Current().mutex);
  return Current().settings;
}

static absl::Status ReadLines(const std::string& lines, PluginSettings* settings) {
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(lines, '\n', absl::SkipEmpty()))) {
    std::pair<std::string, std::string> kv = absl::StrSplit(line, absl::MaxSplits('=', 1));
    XC_RETURN_IF_ERROR(Set(kv.first, kv.second, settings));
  }
  return absl::OkStatus();
}

absl::Status ConfigurePlugin(const std::string& lines) {
  std::vector<void (*)()> listeners;
  {
    std::lock_guard<std::mutex> lock(Current().mutex);
    PluginSettings changed = Current().settings;
    XC_RETURN_IF_ERROR(ReadLines(lines, &changed));
    Current().settings = std::move(changed);
    Current().Publish();
    listeners = Current().listeners;
  }
  for (void (*listener)() : listeners) listener();
  return absl::OkStatus();
}

void OnConfigurePlugin(void (*changed)()) {
  std::lock_guard<std::mutex> lock(Current().mutex);
  Current().listeners.push_back(changed);
}

std::string DescribePluginSettings() {
  PluginSettings settings = CurrentPluginSettings();
  std::string out;
  for (const Row& row : Rows()) absl::StrAppend(&out, row.key, "=", row.write(settings), "\n");
  return out;
}

const LaunchPolicy& CurrentLaunchPolicy() { return *Current().policy.load(std::memory_order_acquire); }
int PluginThreads() { return Current().threads.load(std::memory_order_relaxed); }
bool PluginCallerThread() { return Current().caller_thread.load(std::memory_order_relaxed); }

}  // namespace xc
