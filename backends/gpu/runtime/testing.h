// For tests: PTX of small kernels.
#ifndef XC_BACKENDS_GPU_RUNTIME_TESTING_H_
#define XC_BACKENDS_GPU_RUNTIME_TESTING_H_

namespace xc::gpu {

// add_one(u32* data): data[i] += 1 for all threads of the grid. trap(): traps. wild(u32* data): writes far behind it.
inline constexpr char kKernels[] = R"(
.version 7.8
.target sm_80
.address_size 64
.visible .global .align 4 .u32 counter = 41;
.visible .entry add_one(.param .u64 add_one_param_0)
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [add_one_param_0];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %ctaid.x;
  mad.lo.s32 %r4, %r3, %r2, %r1;
  mul.wide.u32 %rd2, %r4, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r5, [%rd3];
  add.s32 %r5, %r5, 1;
  st.global.u32 [%rd3], %r5;
  ret;
}
.visible .entry trap() { trap; }
.visible .entry wild(.param .u64 wild_param_0)
{
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [wild_param_0];
  st.global.u32 [%rd1+1048576], 1;
  ret;
}
.extern .shared .align 16 .b8 sm[];
.visible .entry shared(.param .u64 shared_param_0)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [shared_param_0];
  mov.u32 %r1, 7;
  st.shared.u32 [sm+65532], %r1;
  ld.shared.u32 %r2, [sm+65532];
  st.global.u32 [%rd1], %r2;
  ret;
}
)";

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_RUNTIME_TESTING_H_
