// For tests that compare our declarations of a library's interface with its headers.
#ifndef XC_BACKENDS_GPU_DRIVER_HEADER_COMPARISON_H_
#define XC_BACKENDS_GPU_DRIVER_HEADER_COMPARISON_H_

#include <type_traits>

namespace xc {

// Types of one size and kind in a call: enumerations are integers, what pointers point to is not looked at.
template <typename A, typename B>
constexpr bool kAlike =
    sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>&& std::is_floating_point_v<A> ==
                                  std::is_floating_point_v<B>;

// Functions whose results and parameters are alike.
template <typename A, typename B>
struct AlikeFunctions : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct AlikeFunctions<R(A...), S(B...)>
    : std::bool_constant<(kAlike<R, S> && ... && kAlike<A, B>)> {
};

}  // namespace xc

// A constant of the surrounding namespace and the header's of the same name.
#define XC_SAME(name) EXPECT_EQ(static_cast<int>(name), static_cast<int>(::name)) << #name
// A field of a structure, likewise.
#define XC_SAME_FIELD(type, field) EXPECT_EQ(offsetof(type, field), offsetof(::type, field))

#endif  // XC_BACKENDS_GPU_DRIVER_HEADER_COMPARISON_H_
