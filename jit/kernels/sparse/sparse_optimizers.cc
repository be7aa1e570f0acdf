// Host kernels of optimizers that update the rows of a variable which a batch looked up: one gradient per row.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

// The variables that a step changes, taken out of their handles to be written. Their values go back when it ends.
class Taken {
 public:
  // Variables `first` to `first` + n - 1 of the operands, distinct, all of one type and shape.
  absl::Status Take(KernelContext& c, int n) {
    for (int i = 0; i < n; ++i) {
      const auto& variable = c.in(i).variable();
      if (variable == nullptr) return c.Error(absl::StrCat("operand ", i, " is not a variable"));
      for (const auto& other : variables_) {
        if (other == variable) return c.Error(absl::StrCat("operand ", i, " is the same variable as another"));
      }
      variables_.push_back(variable);
    }
    // Always in the same order, so that two steps cannot wait for each other.
    std::vector<Variable*> order;
    for (const auto& v : variables_) order.push_back(v.get());
    std::sort(order.begin(), order.end());
    for (Variable* v : order) locks_.emplace_back(v->mutex);
    for (const auto& v : variables_) {
      if (!v->value.initialized()) {
        return absl::FailedPreconditionError(
            absl::StrCat("node '", c.node.name, "': variable '", v->name, "' is not initialized"));
      }
      if (v->value.dtype() != variables_[0]->value.dtype() || v->value.dims() != variables_[0]->value.dims()) {
        return c.Error(absl::StrCat("variable '", v->name, "' differs from the first in type or shape"));
      }
    }
    return absl::OkStatus();
  }

  const Tensor& value(int i) const { return variables_[i]->value; }

  // The elements of variable i, for writing: whoever read it before keeps what it read.
  template <typename T>
  absl::StatusOr<T*> Elements(int i) {
    Tensor& t = variables_[i]->value;
    if (t.buffer().use_count() != 1) {
      XC_ASSIGN_OR_RETURN(Tensor copy, Tensor::Uninitialized(t.dtype(), t.dims()));
      std::copy_n(t.data<T>(), t.num_elements(), copy.data<T>());
      t = std::move(copy);
    }
    return t.data<T>();
  }

 private:
  std::vector<std::shared_ptr<Variable>> variables_;
  std::vector<std::unique_lock<std::mutex>> locks_;
};

// One element of each variable (v[0], v[1], …), its gradient and the op's scalars in the order of the operands.
template <typename T>
using Update = void (*)(T** v, T g, const T* s, const Node& node);

template <typename T>
T Sign(T x) {
  return x > 0 ? T{1} : x < 0 ? T{-1} : T{0};
}

// What L1 and L2 regularization leave of a step's result.
template <typename T>
T Shrunk(T x, T rate, T l1, T l2) {
  const T kept = l1 > 0 ? Sign(x) * std::max(std::abs(x) - rate * l1, T{0}) : x;
  return kept / (T{1} + rate * l2);
}

template <typename T>
void Adagrad(T** v, T g, const T* s, const Node& node) {
  if (node.Bool("update_slots").value_or(true)) *v[1] += g * g;
  *v[0] -= s[0] * g / std::sqrt(*v[1]);
}

template <typename T>
void AdagradV2(T** v, T g, const T* s, const Node& node) {
  if (node.Bool("update_slots").value_or(true)) *v[1] += g * g;
  *v[0] -= s[0] * g / (std::sqrt(*v[1]) + s[1]);
}

template <typename T>
void Momentum(T** v, T g, const T* s, const Node& node) {
  *v[1] = *v[1] * s[1] + g;
  *v[0] -= node.Bool("use_nesterov").value_or(false) ? g * s[0] + *v[1] * s[1] * s[0] : *v[1] * s[0];
}

template <typename T>
void KerasMomentum(T** v, T g, const T* s, const Node& node) {
  *v[1] = *v[1] * s[1] - g * s[0];
  *v[0] += node.Bool("use_nesterov").value_or(false) ? *v[1] * s[1] - g * s[0] : *v[1];
}

// s: lr, l1, l2, [l2_shrinkage,] lr_power
template <typename T, bool kShrinks>
void Ftrl(T** v, T g, const T* s, const Node& node) {
  const T lr = s[0], l1 = s[1], l2 = s[2], power = s[kShrinks ? 4 : 3];
  auto scaled = [&](T x) { return power == T(-0.5) ? std::sqrt(x) : std::pow(x, -power); };
  const T shrunk = kShrinks ? g + 2 * s[3] * *v[0] : g;
  const T next = *v[1] + g * g;
  const bool times = node.Bool("multiply_linear_by_lr").value_or(false);
  if (times) {
    *v[2] += shrunk * lr - (scaled(next) - scaled(*v[1])) * *v[0];
  } else {
    *v[2] += shrunk - (scaled(next) - scaled(*v[1])) / lr * *v[0];
  }
  const T bound = times ? l1 * lr : l1;
  const T quadratic = times ? scaled(next) + 2 * l2 * lr : scaled(next) / lr + 2 * l2;
  *v[0] = std::abs(*v[2]) > bound ? (Sign(*v[2]) * bound - *v[2]) / quadratic : T{0};
  *v[1] = next;
}

// s: lr, rho, momentum, epsilon
template <typename T>
void RmsProp(T** v, T g, const T* s, const Node&) {
  *v[1] = *v[1] * s[1] + g * g * (1 - s[1]);
  *v[2] = *v[2] * s[2] + s[0] * g / std::sqrt(*v[1] + s[3]);
  *v[0] -= *v[2];
}

// Variables: var, mg, ms, mom.
template <typename T>
void CenteredRmsProp(T** v, T g, const T* s, const Node&) {
  *v[2] = *v[2] * s[1] + g * g * (1 - s[1]);
  *v[1] = *v[1] * s[1] + g * (1 - s[1]);
  *v[3] = *v[3] * s[2] + s[0] * g / std::sqrt(*v[2] - *v[1] * *v[1] + s[3]);
  *v[0] -= *v[3];
}

// Variables: var, accum, accum_update; s: lr, rho, epsilon.
template <typename T>
void Adadelta(T** v, T g, const T* s, const Node&) {
  *v[1] = *v[1] * s[1] + g * g * (1 - s[1]);
  const T step = std::sqrt(*v[2] + s[2]) / std::sqrt(*v[1] + s[2]) * g;
  *v[2] = *v[2] * s[1] + step * step * (1 - s[1]);
  *v[0] -= step * s[0];
}

template <typename T>
void ProximalAdagrad(T** v, T g, const T* s, const Node&) {
  *v[1] += g * g;
  const T rate = s[0] / std::sqrt(*v[1]);
  *v[0] = Shrunk(*v[0] - g * rate, rate, s[1], s[2]);
}

template <typename T>
void ProximalDescent(T** v, T g, const T* s, const Node&) {
  *v[0] = Shrunk(*v[0] - g * s[0], s[0], s[1], s[2]);
}

template <typename T>
absl::Status Apply(KernelContext& c, Taken& taken, int variables, int gradient, Update<T> update) {
  const Tensor &g = c.in(gradient), &indices = c.in(gradient + 1);
  const Dims& dims = taken.value(0).dims();
  std::vector<T> scalars;
  for (int i = variables; i < c.num_inputs(); ++i) {
    if (i == gradient || i == gradient + 1) continue;
    if (c.in(i).num_elements() != 1 || c.in(i).dtype() != g.dtype()) {
      return c.Error(absl::StrCat("operand ", i, " is not a scalar"));
    }
    scalars.push_back(c.in(i).data<T>()[0]);
  }
  XC_ASSIGN_OR_RETURN(auto rows, indices.AsInt64s());
  Dims want = dims;
  want[0] = static_cast<int64_t>(rows.size());
  if (indices.rank() != 1 || g.dims() != want || g.dtype() != taken.value(0).dtype()) {
    return c.Error(absl::StrCat("the gradient is ", g.ShapeString(), ", expected ", DimsToString(want)));
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0 || rows[i] >= dims[0]) {
      return c.Error(absl::StrCat("index ", rows[i], " at offset ", i, " in indices is out of range"));
    }
  }
  std::vector<T*> all(variables), one(variables);
  for (int i = 0; i < variables; ++i) {
    XC_ASSIGN_OR_RETURN(all[i], taken.Elements<T>(i));
  }
  const int64_t width = rows.empty() ? 0 : g.num_elements() / want[0];
  for (size_t r = 0; r < rows.size(); ++r) {
    for (int64_t k = 0; k < width; ++k) {
      for (int i = 0; i < variables; ++i) one[i] = all[i] + rows[r] * width + k;
      update(one.data(), g.data<T>()[static_cast<int64_t>(r) * width + k], scalars.data(), c.node);
    }
  }
  return absl::OkStatus();
}

// kVariables variables come first; the gradient and the rows' numbers are operands kGradient and the one behind it.
template <int kVariables, int kGradient, Update<float> kFloat, Update<double> kDouble>
absl::Status SparseApply(KernelContext& c) {
  Taken taken;
  XC_RETURN_IF_ERROR(taken.Take(c, kVariables));
  if (taken.value(0).rank() < 1) return c.Error("var must be at least 1 dimensional");
  if (taken.value(0).dtype() == DT_FLOAT) return Apply<float>(c, taken, kVariables, kGradient, kFloat);
  if (taken.value(0).dtype() == DT_DOUBLE) return Apply<double>(c, taken, kVariables, kGradient, kDouble);
  return absl::UnimplementedError("variables of that type");
}

}  // namespace

void RegisterSparseOptimizerKernels(KernelRegistry& r) {
  r.Add({"ResourceSparseApplyAdagrad"}, SparseApply<2, 3, Adagrad<float>, Adagrad<double>>, false);
  r.Add({"ResourceSparseApplyAdagradV2"}, SparseApply<2, 4, AdagradV2<float>, AdagradV2<double>>, false);
  r.Add({"ResourceSparseApplyMomentum"}, SparseApply<2, 3, Momentum<float>, Momentum<double>>, false);
  r.Add({"ResourceSparseApplyKerasMomentum"}, SparseApply<2, 3, KerasMomentum<float>, KerasMomentum<double>>, false);
  r.Add({"ResourceSparseApplyFtrl"}, SparseApply<3, 3, Ftrl<float, false>, Ftrl<double, false>>, false);
  r.Add({"ResourceSparseApplyFtrlV2"}, SparseApply<3, 3, Ftrl<float, true>, Ftrl<double, true>>, false);
  r.Add({"ResourceSparseApplyRMSProp"}, SparseApply<3, 7, RmsProp<float>, RmsProp<double>>, false);
  r.Add({"ResourceSparseApplyCenteredRMSProp"}, SparseApply<4, 8, CenteredRmsProp<float>, CenteredRmsProp<double>>,
        false);
  r.Add({"ResourceSparseApplyAdadelta"}, SparseApply<3, 6, Adadelta<float>, Adadelta<double>>, false);
  r.Add({"ResourceSparseApplyProximalAdagrad"}, SparseApply<2, 5, ProximalAdagrad<float>, ProximalAdagrad<double>>,
        false);
  r.Add({"ResourceSparseApplyProximalGradientDescent"},
        SparseApply<1, 4, ProximalDescent<float>, ProximalDescent<double>>, false);
}

}  // namespace xc
