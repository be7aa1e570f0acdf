// Host kernels of whole recurrent cells, as TensorFlow 1's fused layers have them: LSTM (with peepholes) for one step
// and for a sequence, GRU for one step.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

// out[batch, columns] = bias + [x, h] * w, where w has x's rows first.
void Affine(const float* x, int64_t inputs, const float* h, int64_t cells, const float* w, const float* bias,
            int64_t batch, int64_t columns, float* out) {
  for (int64_t b = 0; b < batch; ++b) {
    float* row = out + b * columns;
    std::copy_n(bias, columns, row);
    for (int64_t k = 0; k < inputs + cells; ++k) {
      const float v = k < inputs ? x[b * inputs + k] : h[b * cells + k - inputs];
      for (int64_t j = 0; j < columns; ++j) row[j] += v * w[k * columns + j];
    }
  }
}

// An LSTM layer's attributes and weights, operands `first` (w), wci, wcf, wco and b.
struct Lstm {
  int64_t batch, inputs, cells;
  const float *w, *wci, *wcf, *wco, *bias;
  bool peephole;
  float forget_bias = 0, clip;
  bool forget_second = false;  // the order of gates: input, forget, cell, output, or input, cell, forget, output

  // One step; each result has [batch, cells].
  void Step(const float* x, const float* cs_prev, const float* h_prev, float* i, float* cs, float* f, float* o,
            float* ci, float* co, float* h) const {
    std::vector<float> gates(batch * 4 * cells);
    Affine(x, inputs, h_prev, cells, w, bias, batch, 4 * cells, gates.data());
    for (int64_t b = 0; b < batch; ++b) {
      const float* row = &gates[b * 4 * cells];
      for (int64_t k = 0; k < cells; ++k) {
        const int64_t at = b * cells + k;
        const float before = cs_prev[at], forget = row[(forget_second ? 1 : 2) * cells + k] + forget_bias;
        i[at] = Sigmoid(row[k] + (peephole ? before * wci[k] : 0));
        f[at] = Sigmoid(forget + (peephole ? before * wcf[k] : 0));
        ci[at] = std::tanh(row[(forget_second ? 2 : 1) * cells + k]);
        cs[at] = ci[at] * i[at] + before * f[at];
        if (clip > 0) cs[at] = std::clamp(cs[at], -clip, clip);
        o[at] = Sigmoid(row[3 * cells + k] + (peephole ? cs[at] * wco[k] : 0));
        co[at] = std::tanh(cs[at]);
        h[at] = co[at] * o[at];
      }
    }
  }
};

absl::Status AllFloat(KernelContext& c, int first) {
  for (int i = first; i < c.num_inputs(); ++i) {
    if (c.in(i).dtype() != DT_FLOAT) return absl::UnimplementedError("cells of that type");
  }
  return absl::OkStatus();
}

// Operands from `first` on: x [[time,] batch, inputs], cs_prev, h_prev, w, wci, wcf, wco, b.
absl::StatusOr<Lstm> ReadLstm(KernelContext& c, int first, int rank) {
  XC_RETURN_IF_ERROR(AllFloat(c, first));
  if (c.num_inputs() != first + 8 || c.in(first).rank() != rank || c.in(first + 1).rank() != 2) {
    return c.Error(absl::StrCat("x must have rank ", rank, ", cs_prev rank 2"));
  }
  Lstm l;
  l.batch = c.in(first).dims()[rank - 2];
  l.inputs = c.in(first).dims()[rank - 1];
  l.cells = c.in(first + 1).dims()[1];
  XC_ASSIGN_OR_RETURN(l.peephole, c.node.Bool("use_peephole"));
  XC_ASSIGN_OR_RETURN(l.clip, c.node.Float("cell_clip"));
  const Dims state = {l.batch, l.cells};
  bool fits = c.in(first + 1).dims() == state && c.in(first + 2).dims() == state &&
              c.in(first + 3).dims() == Dims{l.inputs + l.cells, 4 * l.cells} &&
              c.in(first + 7).dims() == Dims{4 * l.cells};
  for (int i = first + 4; l.peephole && i < first + 7; ++i) fits &= c.in(i).dims() == Dims{l.cells};
  if (!fits) return c.Error("the states and weights do not fit the input");
  l.w = c.in(first + 3).data<float>();
  l.wci = c.in(first + 4).data<float>();
  l.wcf = c.in(first + 5).data<float>();
  l.wco = c.in(first + 6).data<float>();
  l.bias = c.in(first + 7).data<float>();
  l.forget_second = c.node.op == "BlockLSTMV2";
  if (c.node.FindAttr("forget_bias") != nullptr) {
    XC_ASSIGN_OR_RETURN(l.forget_bias, c.node.Float("forget_bias"));
  }
  return l;
}

// One step (rank 2) or a sequence (rank 3), of which only the first steps count if operand 0 says so. The results are
// i, cs, f, o, ci, co, h.
template <bool kSequence>
absl::Status LstmLayer(KernelContext& c) {
  constexpr int kFirst = kSequence ? 1 : 0;
  XC_ASSIGN_OR_RETURN(Lstm lstm, ReadLstm(c, kFirst, kSequence ? 3 : 2));
  const Tensor& x = c.in(kFirst);
  Dims dims = x.dims();
  dims.back() = lstm.cells;
  int64_t steps = kSequence ? dims[0] : 1;
  if (kSequence) {
    XC_ASSIGN_OR_RETURN(int64_t most, c.Int(0));
    if (most < 0 || most > steps) return c.Error(absl::StrCat("seq_len_max ", most, " must be from 0 to ", steps));
    steps = most;
  }
  for (int i = 0; i < 7; ++i) {
    XC_ASSIGN_OR_RETURN(c.outputs[i], c.Alloc(i, dims));
  }
  const int64_t state = lstm.batch * lstm.cells;
  const float *cs = c.in(kFirst + 1).data<float>(), *h = c.in(kFirst + 2).data<float>();
  for (int64_t t = 0; t < steps; ++t) {
    auto at = [&](int i) { return c.outputs[i].data<float>() + t * state; };
    lstm.Step(x.data<float>() + t * lstm.batch * lstm.inputs, cs, h, at(0), at(1), at(2), at(3), at(4), at(5), at(6));
    cs = at(1);
    h = at(6);
  }
  return absl::OkStatus();
}

// x, h_prev, w_ru, w_c, b_ru, b_c: the gates r and u, the candidate c, and the new state.
absl::Status GruCell(KernelContext& c) {
  XC_RETURN_IF_ERROR(AllFloat(c, 0));
  if (c.in(0).rank() != 2 || c.in(1).rank() != 2) return c.Error("x and h_prev must be matrices");
  const int64_t batch = c.in(0).dims()[0], inputs = c.in(0).dims()[1], cells = c.in(1).dims()[1];
  if (c.in(1).dims()[0] != batch || c.in(2).dims() != Dims{inputs + cells, 2 * cells} ||
      c.in(3).dims() != Dims{inputs + cells, cells} || c.in(4).dims() != Dims{2 * cells} ||
      c.in(5).dims() != Dims{cells}) {
    return c.Error("the state and weights do not fit the input");
  }
  for (int i = 0; i < 4; ++i) {
    XC_ASSIGN_OR_RETURN(c.outputs[i], c.Alloc(i, {batch, cells}));
  }
  const float *x = c.in(0).data<float>(), *before = c.in(1).data<float>();
  float *r = c.outputs[0].data<float>(), *u = c.outputs[1].data<float>(), *candidate = c.outputs[2].data<float>(),
        *h = c.outputs[3].data<float>();
  std::vector<float> gates(batch * 2 * cells), kept(batch * cells);
  Affine(x, inputs, before, cells, c.in(2).data<float>(), c.in(4).data<float>(), batch, 2 * cells, gates.data());
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t k = 0; k < cells; ++k) {
      const int64_t at = b * cells + k;
      r[at] = Sigmoid(gates[b * 2 * cells + k]);
      u[at] = Sigmoid(gates[(b * 2 + 1) * cells + k]);
      kept[at] = before[at] * r[at];
    }
  }
  Affine(x, inputs, kept.data(), cells, c.in(3).data<float>(), c.in(5).data<float>(), batch, cells, candidate);
  for (int64_t at = 0; at < batch * cells; ++at) {
    candidate[at] = std::tanh(candidate[at]);
    h[at] = (1 - u[at]) * candidate[at] + u[at] * before[at];
  }
  return absl::OkStatus();
}

}  // namespace

void RegisterRecurrentKernels(KernelRegistry& r) {
  r.Add({"LSTMBlockCell"}, LstmLayer<false>, false);
  r.Add({"BlockLSTM", "BlockLSTMV2"}, LstmLayer<true>, false);
  r.Add({"GRUBlockCell"}, GruCell, false);
}

}  // namespace xc
