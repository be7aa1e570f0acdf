// How products are cut into tasks.
#include "backends/runtime/matmul_plan.h"

#include <gtest/gtest.h>

#include "backends/runtime/testing/dense_product.h"

namespace xc {
namespace {

Plan OfLibrary(const MatmulDesc& d) { return MakePlan(d, d.batch[0], /*onednn=*/true, /*one_thread=*/false); }

// Tasks of many columns have all rows, so that each column is read once.
TEST(MatmulPlan, RowsShareColumns) {
  for (RtType type : {RtType::kF32, RtType::kBF16}) {
    const Plan plan = OfLibrary(DenseProduct(type, 128, 3072, 768));
    EXPECT_EQ(plan.m_tiles, 1);
    EXPECT_GE(plan.n_tiles, 8);
    const Plan large = OfLibrary(DenseProduct(type, 1024, 1024, 1024));
    EXPECT_EQ(large.m, 256);
    EXPECT_EQ(large.n, 256);
  }
}

// A constant operand in blocks of columns is a batch with one left operand: blocks are tasks.
TEST(MatmulPlan, BlocksOfColumnsAreTasks) {
  MatmulDesc d = DenseProduct(RtType::kF32, 128, 128, 768);
  d.num_batch_dims = 1;
  d.batch[0] = 24;
  d.b_batch[0] = 768 * 128;
  d.c_batch[0] = 128;
  d.c_m = 3072;
  const Plan plan = OfLibrary(d);
  EXPECT_EQ(plan.batch_tiles, 24);
  EXPECT_EQ(plan.m_tiles * plan.n_tiles, 1);
}

// Threads have something to do where there are few columns.
TEST(MatmulPlan, NarrowProductsAreCutByRows) {
  EXPECT_GE(OfLibrary(DenseProduct(RtType::kF32, 512, 512, 512)).m_tiles * 2, 8);
  EXPECT_GE(OfLibrary(DenseProduct(RtType::kF32, 4096, 64, 768)).m_tiles, 16);
}

}  // namespace
}  // namespace xc
