// A profile as people and their tools read it: a trace for Perfetto and TensorBoard, a table, a roofline picture.
#ifndef XC_SERVICE_PROFILE_H_
#define XC_SERVICE_PROFILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "backends/backend.h"
#include "backends/runtime/profile.h"
#include "hlo/base/timeline.h"
#include "service/ceilings.h"

namespace xc {

class Profile {
 public:
  // What the runs of one site came to, together.
  struct Row {
    ProfileSite site;
    int64_t count = 0, iterations = 0;
    double total_ms = 0, self_ms = 0;  // self: without what is told inside of it
    double flops = 0, bytes = 0;       // of all executions; 0: not known
    double gflops = 0, gbps = 0;       // 10^9 a second, over the total time
  };

  // `compiled`: what compiling took; may be empty.
  Profile(std::string module, const std::vector<ProfileSite>& sites, const RunProfile& run,
          std::vector<Timeline::Span> compiled, const Ceilings& ceilings);

  const std::vector<Row>& rows() const { return rows_; }  // by self time, the longest first
  double run_ms() const { return run_ms_; }               // of one run, on average

  // JSON of the Trace Event format: process 1 is compiling, process 2 running, each thread a track.
  std::string Trace() const;
  // A line for each site, the longest first, and one for what no site tells.
  std::string Table() const;
  // The table as a JSON list.
  std::string TableJson() const;
  // SVG: operations a second over operations per byte, beside the machine's ceilings.
  std::string Roofline() const;

 private:
  // Of one run, with a unit that suits it.
  std::string RunTime() const;

  std::string module_;
  std::vector<ProfileSite> sites_;
  std::vector<RunProfile::Event> events_;
  std::vector<Timeline::Span> compiled_;
  Ceilings ceilings_;
  std::vector<Row> rows_;
  int64_t runs_ = 0, dropped_ = 0;
  int main_track_ = 0;
  double run_ms_ = 0;
};

// Writes the trace to `path`: a .json file, a .json.gz file, or, if it ends with a slash or is a directory, where
// TensorBoard looks for it below a log directory (plugins/profile/NAME/xc.trace.json.gz).
absl::Status WriteTrace(const Profile& profile, const std::string& path);

}  // namespace xc

#endif  // XC_SERVICE_PROFILE_H_
