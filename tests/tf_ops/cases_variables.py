"""Cases of tf_ops.py: optimizer steps, gathers and scatters on resource variables."""

import numpy as np
import tensorflow as tf

from cases import F32, F64, I32, I64, Case, Fed, data, fed


def on_variables(op, values, call, dtype=F32, note=""):
    """Runs `op` on variables of the given initial values; gives their values after it, and the op's results."""

    def build(args):
        handles, assigns = {}, []
        for name, value in values.items():
            kind = tf.as_dtype(value.array.dtype)
            handles[name] = tf.raw_ops.VarHandleOp(
                dtype=kind, shape=value.array.shape, shared_name="%s_%s_%s" % (op, name, kind.name)
            )
            assigns.append(tf.raw_ops.AssignVariableOp(resource=handles[name], value=args["init_" + name]))
        with tf.control_dependencies(assigns):
            fed_args = {k: tf.identity(args[k]) if isinstance(v, Fed) else v for k, v in call.items()}
            result = getattr(tf.raw_ops, op)(**handles, **fed_args)
        results = [] if isinstance(result, tf.Operation) else [result]
        with tf.control_dependencies([result if not results else results[0].op]):
            return results + [
                tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.as_dtype(values[n].array.dtype))
                for n, h in handles.items()
            ]

    args = {"init_" + k: v for k, v in values.items()}
    args.update(call)
    return Case(op, args, build=build, compiled=False, note=note)


def slots(names, dtype, shape=(3, 4)):
    return {name: fed(list(shape), dtype, low=0.1, seed=i) for i, name in enumerate(names)}


def optimizers():
    for dtype in (F32, F64):
        grad = fed([3, 4], dtype, seed=9)

        def scalars(**kw):
            return {k: Fed(np.array(v, dtype)) for k, v in kw.items()}

        yield on_variables(
            "ResourceApplyAdagradDA",
            slots(["var", "gradient_accumulator", "gradient_squared_accumulator"], dtype),
            dict(scalars(lr=0.1, l1=0.3, l2=0.2), grad=grad, global_step=np.int64(3)),
        )
        yield on_variables(
            "ResourceApplyAddSign",
            slots(["var", "m"], dtype),
            dict(scalars(lr=0.1, alpha=1.2, sign_decay=0.7, beta=0.9), grad=grad),
        )
        yield on_variables(
            "ResourceApplyPowerSign",
            slots(["var", "m"], dtype),
            dict(scalars(lr=0.1, logbase=1.1, sign_decay=0.7, beta=0.9), grad=grad),
        )
        for l1 in (0.0, 0.4):
            yield on_variables(
                "ResourceApplyProximalGradientDescent",
                slots(["var"], dtype),
                dict(scalars(alpha=0.1, l1=l1, l2=0.2), delta=grad),
            )
            yield on_variables(
                "ResourceApplyProximalAdagrad",
                slots(["var", "accum"], dtype),
                dict(scalars(lr=0.1, l1=l1, l2=0.2), grad=grad),
            )
            for power in (-0.5, -0.7):
                for flag in (False, True):
                    ftrl = dict(scalars(lr=0.1, l1=l1, l2=0.2, lr_power=power), grad=grad, multiply_linear_by_lr=flag)
                    names = ["var", "accum", "linear"]
                    yield on_variables("ResourceApplyFtrl", slots(names, dtype), ftrl)
                    yield on_variables(
                        "ResourceApplyFtrlV2", slots(names, dtype), dict(ftrl, **scalars(l2_shrinkage=0.05))
                    )
        yield on_variables(
            "ResourceApplyCenteredRMSProp",
            slots(["var", "mg", "ms", "mom"], dtype),
            dict(scalars(lr=0.1, rho=0.9, momentum=0.5, epsilon=8.0), grad=grad),
        )


def scatters():
    ids = Fed(np.array([[4, 1], [0, 2]], I32))
    for dtype in (F32, I32, I64):
        table = fed([5, 3], dtype, 1, 6)
        updates = fed([2, 2, 3], dtype, 1, 6, seed=4)
        for kind in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update"):
            if kind == "Div" and dtype != F32:
                continue  # there are zeros among the updates
            call = {"indices": ids, "updates": updates}
            yield on_variables("ResourceScatter" + kind, {"resource": table}, call)
        one = Fed(np.array(2, dtype))
        yield on_variables("ResourceScatterAdd", {"resource": table}, {"indices": ids, "updates": one}, note=" scalar")
        twice = Fed(np.array([1, 1, 3], I64))
        rows = fed([3, 3], dtype, 1, 6)
        yield on_variables(
            "ResourceScatterAdd", {"resource": table}, {"indices": twice, "updates": rows}, note=" twice"
        )
        pairs = Fed(np.array([[0, 2], [4, 1], [3, 0]], I32))
        for kind in ("Add", "Sub", "Update", "Min", "Max"):
            call = {"indices": pairs, "updates": fed([3], dtype, 1, 6)}
            yield on_variables("ResourceScatterNd" + kind, {"ref": table}, call)
        yield on_variables(
            "ResourceGather", {"resource": table}, {"indices": ids, "dtype": tf.as_dtype(np.dtype(dtype))}
        )
        yield on_variables(
            "ResourceGatherNd", {"resource": table}, {"indices": pairs, "dtype": tf.as_dtype(np.dtype(dtype))}
        )
    yield on_variables("VarIsInitializedOp", {"resource": fed([2])}, {})
    yield on_variables("VariableShape", {"input": fed([2, 5])}, {})
    for begin, end, strides, shape in (([1, 0], [4, 3], [2, 1], [2, 3]), ([4, 0], [0, 2], [-2, 1], [2, 2])):
        yield on_variables(
            "ResourceStridedSliceAssign",
            {"ref": fed([5, 3])},
            {"begin": begin, "end": end, "strides": strides, "value": fed(shape, seed=3)},
        )


def variable_cases():
    for family in (optimizers, scatters):
        yield from family()
