// What a further set of shapes costs a cluster that has code for all sizes: lowering it, the compiler up to its code,
// and comparing that; beside what a compilation takes.
//
// usage: new_shapes_cost GRAPH.pb [CALLS] [BATCH] [LENGTH] [image]
// The graph takes integers [batch, length], such as data/graphs/encoder; with `image`, f32[1, batch, length, 3]. Calls
// of ever other shapes are made three times: the first prepares the shape, and the difference is printed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "jit/host/session.h"
#include "jit/launch/clock.h"

namespace {

// Of the processor, in this thread, which prepares: what else the machine does counts little.
double Seconds() { return static_cast<double>(xc::ThreadNow()) * 1e-9; }

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2)
    return Fail(absl::InvalidArgumentError("usage: new_shapes_cost GRAPH.pb [CALLS] [BATCH] [LENGTH] [image]"));
  const bool image = argc > 5 && std::string(argv[5]) == "image";
  const auto number = [&](int i, int otherwise) { return i < argc ? std::max(2, std::atoi(argv[i])) : otherwise; };
  const int calls = number(2, 100), batch = number(3, 4), length = number(4, 128);
  std::stringstream bytes;
  bytes << std::ifstream(argv[1], std::ios::binary).rdbuf();
  auto def = xc::ParseGraphDef(bytes.str(), false);
  if (!def.ok()) return Fail(def.status());
  xc::SessionOptions options;
  options.host.launch.policy.when = xc::CompileWhen::kNow;
  auto session = xc::Session::Create(*def, options);
  if (!session.ok()) return Fail(session.status());
  std::vector<double> cost, run;
  std::set<std::pair<int, int>> seen;
  std::srand(1);
  for (int i = 0; static_cast<int>(cost.size()) < calls && i < 100 * calls; ++i) {
    const int b = 2 + std::rand() % (batch - 1), n = 2 + std::rand() % (length - 1);
    if (!seen.insert({b, n}).second) continue;
    auto x = image ? xc::Tensor::Create(xc::DT_FLOAT, {1, b, n, 3}) : xc::Tensor::Create(xc::DT_INT32, {b, n});
    if (!x.ok()) return Fail(x.status());
    if (image) std::fill_n(x->data<float>(), x->num_elements(), 0.5f);
    if (!image) std::fill_n(x->data<int32_t>(), x->num_elements(), 1);
    double times[3];
    for (double& time : times) {
      const double start = Seconds();
      if (auto out = (*session)->Run({*x}); !out.ok()) return Fail(out.status());
      time = Seconds() - start;
    }
    const double best = std::min(times[1], times[2]);
    if (seen.size() <= 4) {
      std::printf("signature %zu: %.2f ms to compile\n", seen.size(), (times[0] - best) * 1e3);
    } else {
      cost.push_back(times[0] - best);
      run.push_back(best);
    }
  }
  std::istringstream lines((*session)->Explain());
  for (std::string line; std::getline(lines, line);) {
    if (line.find("for all sizes") != std::string::npos && line.find("): ") != std::string::npos)
      std::puts(line.c_str());
  }
  std::sort(cost.begin(), cost.end());
  std::sort(run.begin(), run.end());
  std::printf(
      "%zu further shapes: %.2f ms each to prepare (median), %.2f and %.2f ms the tenth and the ninetieth of a "
      "hundred; a run takes %.2f ms\n",
      cost.size(), cost[cost.size() / 2] * 1e3, cost[cost.size() / 10] * 1e3, cost[cost.size() * 9 / 10] * 1e3,
      run[run.size() / 2] * 1e3);
  return 0;
}
