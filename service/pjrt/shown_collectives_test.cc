// Modules whose collectives were expanded, as they are shown.
#include "service/pjrt/shown_collectives.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "compiler/expand/expand.h"
#include "compiler/pass.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"

namespace xc::pjrt {
namespace {

TEST(ShownCollectives, AreWhatTheyWereExpandedFrom) {
  auto module = ParseModule(R"(HloModule m, num_partitions=4
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }
ENTRY e {
  a = f32[8,4] parameter(0)
  r = f32[8,4] all-reduce(a), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=add
  g = f32[32,4] all-gather(r), channel_id=2, replica_groups={{0,1,2,3}}, use_global_device_ids=true, dimensions={0}
  s = f32[8,4] reduce-scatter(g), channel_id=3, replica_groups={{0,1,2,3}}, use_global_device_ids=true, dimensions={0}, to_apply=add
  t = f32[8,4] all-to-all(s), channel_id=4, replica_groups={{0,1,2,3}}, dimensions={1}
  ROOT p = f32[8,4] collective-permute(t), channel_id=5, source_target_pairs={{0,1},{1,0}}
})");
  ASSERT_TRUE(module.ok()) << module.status();
  PassContext context;
  const auto changed = ExpandCollectives(module->get(), context);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(absl::StrContains((*module)->ToString(), "xc.collective"));
  ShowCollectives(module->get());
  ASSERT_TRUE(VerifyModule(**module).ok()) << VerifyModule(**module);
  const std::string text = (*module)->ToString();
  EXPECT_FALSE(absl::StrContains(text, "custom-call")) << text;
  for (const char* part :
       {"all-reduce(%a)", "replica_groups={{0,1},{2,3}}", "all-gather(", "reduce-scatter(", "all-to-all(",
        "collective-permute(", "source_target_pairs={{0,1},{1,0}}", "to_apply=%add_f32"}) {
    EXPECT_TRUE(absl::StrContains(text, part)) << part << " is not in\n" << text;
  }
}

}  // namespace
}  // namespace xc::pjrt
