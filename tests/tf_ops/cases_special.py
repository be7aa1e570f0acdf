"""Cases of tf_ops.py: special functions, warped images and whole recurrent cells, which the host runs itself."""

import numpy as np
import tensorflow as tf

from cases import F32, F64, I32, I64, U8, Fed, fed
from cases_records import host


def functions():
    for dtype in (F32, F64):
        for low, high in ((0.01, 3), (2, 30), (0.5, 60)):
            x = fed([40], dtype, low, high)
            for op in ("J0", "J1", "Y0", "Y1", "K0", "K0e", "K1", "K1e"):
                yield host("Bessel" + op, {"x": x})
            for op in ("Expint", "Spence", "Dawsn", "FresnelCos", "FresnelSin"):
                yield host(op, {"x": x})
        for op in ("BesselJ0", "BesselJ1", "Dawsn", "FresnelCos", "FresnelSin"):
            yield host(op, {"x": fed([40], dtype, -8, 8)})
        edges = Fed(np.array([0, 1, 0.5, 1.5, 2, np.inf, np.nan], dtype))
        for op in ("Spence", "Expint", "Dawsn", "FresnelCos", "FresnelSin"):
            yield host(op, {"x": edges})


def warps():
    rng = np.random.RandomState(5)
    for dtype in (F32, U8):
        image = Fed((rng.rand(2, 6, 7, 3) * 200).astype(dtype))
        turns = np.array([[1, 0.2, -1, -0.1, 0.9, 1, 0, 0], [0.5, 0, 2, 0.3, 1.4, -5, 0.01, 0.02]], F32)
        for how in ("BILINEAR", "NEAREST"):
            for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
                for transforms in (turns, turns[:1]):
                    call = {"images": image, "transforms": Fed(transforms), "output_shape": np.array([8, 5], I32)}
                    call.update(interpolation=how, fill_mode=mode)
                    yield host("ImageProjectiveTransformV3", dict(call, fill_value=np.array(3, F32)))
                    yield host("ImageProjectiveTransformV2", call)


def crops():
    boxes = np.array([[0.1, 0.2, 0.8, 0.9], [-0.2, 0.3, 1.1, 0.6], [0.9, 0.8, 0.1, 0.2]], F32)
    at = {"boxes": Fed(boxes), "box_ind": Fed(np.array([0, 1, 1], I32))}
    for size in ([3, 4], [1, 1], [5, 2]):
        grads = fed([3] + size + [2])
        for method in ("bilinear", "nearest"):
            call = dict(at, grads=grads, image_size=np.array([2, 6, 7, 2], I32), T=tf.float32, method=method)
            yield host("CropAndResizeGradImage", call)
        yield host("CropAndResizeGradBoxes", dict(at, grads=grads, image=fed([2, 6, 7, 2])))


def cells():
    state = {"cs_prev": fed([2, 4]), "h_prev": fed([2, 4], seed=1)}
    weights = {"w": fed([7, 16]), "b": fed([16])}
    weights.update({name: fed([4], seed=i) for i, name in enumerate(("wci", "wcf", "wco"))})
    for peephole in (False, True):
        for clip in (-1.0, 0.7):
            call = dict(state, **weights, use_peephole=peephole, cell_clip=clip)
            yield host("LSTMBlockCell", dict(call, x=fed([2, 3]), forget_bias=0.5))
            sequence = dict(call, x=fed([5, 2, 3]), seq_len_max=np.array(5, I64))
            yield host("BlockLSTM", dict(sequence, forget_bias=0.5))
            yield host("BlockLSTMV2", sequence)
            for op in ("BlockLSTM", "BlockLSTMV2"):  # of the steps behind the last one only cs and h are defined
                yield host(op, dict(sequence, seq_len_max=np.array(3, I64)), outputs=[1, 6])
    gru = {"x": fed([2, 3]), "h_prev": fed([2, 4]), "w_ru": fed([7, 8]), "w_c": fed([7, 4])}
    yield host("GRUBlockCell", dict(gru, b_ru=fed([8]), b_c=fed([4])))


def samples():
    hits = {"true_classes": Fed(np.array([[3, 1], [2, 2], [9, 5]], I64)), "num_true": 2}
    yield host("ComputeAccidentalHits", dict(hits, sampled_candidates=Fed(np.array([5, 2, 3, 7], I64))))
    for op in ("Sum", "Mean", "SqrtN"):
        back = {"grad": fed([3, 2]), "indices": Fed(np.array([4, 1, 4, 0], I32))}
        back.update(segment_ids=Fed(np.array([0, 0, 2, 2], I32)), dense_output_dim0=np.array(6, I32))
        yield host("SparseSegment%sGradV2" % op, back)


def special_cases():
    for family in (functions, warps, crops, cells, samples):
        yield from family()
