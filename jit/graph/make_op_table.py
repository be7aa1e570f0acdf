"""Writes op_table.def: the signatures of the TensorFlow operations that the graph importer knows.

Usage: python make_op_table.py COMPILABLE_OPS.tsv > op_table.def    (needs an installed TensorFlow)
"""

import re
import sys

from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import ops  # noqa: F401  registers the operations
from tensorflow.python.framework import op_def_registry
import tensorflow as tf  # noqa: F401

# What the host runtime runs or must recognise beyond what a compiler can take.
HOST_OPS = """
Placeholder PlaceholderV2 VarHandleOp VariableV2 Variable Assign AssignAdd AssignSub DestroyResourceOp
AsString StringLength StringJoin StringUpper StringLower StringStrip StringSplit StringSplitV2 StringToNumber
StringToHashBucketFast StringToHashBucket StringToHashBucketStrong StringFormat Substr ReduceJoin RegexReplace
RegexFullMatch StaticRegexReplace StaticRegexFullMatch EncodeBase64 DecodeBase64 DecodeRaw UnicodeTranscode
StringNGrams UnsortedSegmentJoin Print PrintV2 Unique UniqueV2 UniqueWithCounts UniqueWithCountsV2 Where ListDiff
Switch Merge Enter Exit NextIteration LoopCond RefSwitch RefMerge RefEnter RefExit RefNextIteration RefIdentity
_SwitchN Abort Timestamp RandomGamma RandomPoissonV2 RandomShuffle TensorListPushBackBatch TensorListScatter
TensorListScatterV2 TensorListScatterIntoExistingList TensorListConcat TensorListConcatLists TensorListResize
HashTableV2 MutableHashTableV2 LookupTableFindV2 LookupTableImportV2 LookupTableInsertV2 LookupTableSizeV2
LookupTableExportV2 InitializeTableV2 InitializeTableFromTextFileV2 SaveV2 RestoreV2 MergeV2Checkpoints
ShardedFilename Fingerprint Bucketize SparseReshape SparseToDense SparseFillEmptyRows SparseSegmentSum
SparseSegmentMean SparseSegmentSqrtN SparseTensorDenseMatMul SparseReorder SparseSlice RaggedRange
RaggedTensorToTensor RaggedTensorToSparse ParseExampleV2 ParseSingleExample DecodeJpeg DecodePng DecodeCSV EncodePng
ResizeBicubic ResizeArea ResizeNearestNeighborGrad CropAndResize NonMaxSuppression NonMaxSuppressionV2
NonMaxSuppressionV5 CombinedNonMaxSuppression TopK InTopK SegmentMean SegmentSum SegmentMax SegmentMin SegmentProd
ScatterUpdate ScatterAdd ScatterNdUpdate ScatterNdAdd ScatterNdNonAliasingAdd ResourceScatterNdMin
ResourceScatterNdMax TensorMapSize MaxPoolWithArgmax FractionalMaxPool FractionalAvgPool Dilation2D MatrixExponential
MatrixLogarithm MatrixDeterminant LogMatrixDeterminant MatrixSquareRoot MatrixSolveLs CholeskyGrad Lu Eig BesselI0
BesselI1 Erfcinv StridedSlice ApplyGradientDescent ApplyAdam ApplyMomentum ResourceApplyAdamWithAmsgrad
ResourceSparseApplyAdagrad ResourceSparseApplyAdagradV2 ResourceSparseApplyFtrl ResourceSparseApplyMomentum
ResourceSparseApplyKerasMomentum ResourceCountUpTo RemoteCall MakeUnique HistogramFixedWidth ParallelConcat
DrawBoundingBoxes AdjustContrast RandomCrop StatelessSampleDistortedBoundingBox StatelessRandomGammaV2
StatelessRandomGammaV3 StatelessRandomPoisson StatelessRandomBinomial StatelessShuffle StatelessTruncatedNormalV2
IsVariableInitialized ExtractVolumePatches FusedPadConv2D FusedResizeAndPadConv2D BatchCholesky DebugGradientIdentity
DebugIdentityV2 OptionalFromValue TensorListSplit EagerPyFunc PyFunc PyFuncStateless Roll EncodeProto RngBitGenerator
ToHashBucket StageV2 ReadFile WriteFile MatchingFiles AudioSpectrogram Mfcc Batch _FusedMatMul _FusedConv2D
_FusedDepthwiseConv2dNative _MklFusedMatMul _FusedBatchNormEx _FusedConv3D _MklSwish _MklFusedMish
_MklFusedBatchMatMulV2 _MklLayerNorm _MklFusedInstanceNorm _Arg _Retval ApplyAdagrad
SymbolicGradient Softmax Cumsum SparseMatMul ResourceGatherNd QuantizeAndDequantizeV4Grad CropAndResizeGradImage
CropAndResizeGradBoxes ResizeBicubicGrad MaxPoolGradWithArgmax SparseSegmentSumGrad SparseSegmentMeanGrad
SparseSegmentSqrtNGrad SparseSegmentSumWithNumSegments SparseSegmentMeanWithNumSegments
SparseSegmentSqrtNWithNumSegments NthElement QuantizeV2 ImageProjectiveTransformV3 BesselJ0 BesselJ1 BesselY0 BesselY1
BesselK0 BesselK1 BesselK0e BesselK1e Dawsn Expint FresnelCos FresnelSin Spence SparseTensorDenseAdd SparseAdd
SparseConcat SparseSplit SparseToSparseSetOperation DenseToDenseSetOperation InplaceUpdate InplaceAdd InplaceSub
InvGrad EuclideanNorm GuaranteeConst DeepCopy
UnravelIndex SparseDenseCwiseMul SparseDenseCwiseDiv SparseDenseCwiseAdd UnicodeDecode UnicodeDecodeWithOffsets
UnicodeEncode RaggedGather RaggedTensorFromVariant RaggedBincount SparseBincount SparseReduceSum Dilation2DBackpropInput
Dilation2DBackpropFilter MatrixSolveLs BandedTriangularSolve RandomPoisson StatelessRandomGetAlg DecodeAndCropJpeg
AnonymousHashTable AnonymousMutableHashTable AnonymousMutableHashTableOfTensors MutableHashTableOfTensorsV2
LookupTableRemoveV2 DisableCopyOnRead ParseExample SparseCross SparseCrossV2 RaggedCountSparseOutput
SparseCountSparseOutput DenseCountSparseOutput CTCGreedyDecoder EditDistance SetSize DenseToSparseSetOperation
ScaleAndTranslate ScaleAndTranslateGrad DrawBoundingBoxesV2 NonMaxSuppressionWithOverlaps CTCLoss
CTCBeamSearchDecoder RaggedTensorToVariant RaggedTensorToVariantGradient RaggedFillEmptyRows RaggedFillEmptyRowsGrad
SparseAddGrad SparseSliceGrad SparseFillEmptyRowsGrad SparseSparseMaximum SparseSparseMinimum SparseSoftmax
SparseReduceSumSparse SparseReduceMax SparseReduceMaxSparse DecodeWav EncodeWav ParseTensor SerializeTensor
ParseSequenceExample ParseSequenceExampleV2 ParseSingleSequenceExample MutableDenseHashTableV2
AnonymousMutableDenseHashTable HashTable MutableHashTable MutableHashTableOfTensors MutableDenseHashTable InitializeTable
InitializeTableFromTextFile LookupTableFind LookupTableInsert LookupTableSize LookupTableExport LookupTableImport
ImageProjectiveTransformV2 ResourceSparseApplyFtrlV2 ResourceSparseApplyRMSProp ResourceSparseApplyCenteredRMSProp
ResourceSparseApplyAdadelta ResourceSparseApplyProximalAdagrad ResourceSparseApplyProximalGradientDescent ApplyFtrl
ApplyRMSProp ApplyCenteredRMSProp ApplyAdadelta ApplyAdagradV2 ApplyAdaMax ApplyFtrlV2 ApplyProximalAdagrad
ApplyProximalGradientDescent ApplyAdagradDA ApplyAddSign ApplyPowerSign ScatterSub ScatterMul ScatterDiv ScatterMin
ScatterMax ScatterNdSub ScatterNdMin ScatterNdMax SparseApplyAdagrad SparseApplyAdagradV2 SparseApplyMomentum
SparseApplyFtrl SparseApplyFtrlV2 SparseApplyRMSProp SparseApplyCenteredRMSProp SparseApplyAdadelta
SparseApplyProximalAdagrad SparseApplyProximalGradientDescent StridedSliceAssign LSTMBlockCell BlockLSTM
BlockLSTMV2 GRUBlockCell ComputeAccidentalHits SparseSegmentSumGradV2 SparseSegmentMeanGradV2 SparseSegmentSqrtNGradV2
BatchFunction QuantizedMatMul QuantizedConv2D QuantizedBiasAdd QuantizedMul QuantizedRelu QuantizedRelu6
QuantizedMaxPool QuantizedAvgPool QuantizedReshape Requantize RequantizationRange
QuantizeDownAndShrinkRange UniformCandidateSampler LogUniformCandidateSampler AllCandidateSampler
FixedUnigramCandidateSampler DecodePaddedRaw
""".split()
SKIPPED = re.compile(r"^(XlaAllReduce|XlaReduceScatter|_Xla|Collective)")


def type_name(t):
    return types_pb2.DataType.Name(t)[3:].lower()


def arg_text(arg):
    if arg.type_list_attr:
        t = "*" + arg.type_list_attr
    else:
        t = arg.type_attr if arg.type_attr else "=" + type_name(arg.type)
        if arg.number_attr:
            t = arg.number_attr + "*" + t
    return ("&" if arg.is_ref else "") + arg.name + ":" + t


def scalar(kind, v):
    if kind == "type":
        return type_name(v.type)
    if kind == "int":
        return str(v.i)
    if kind == "float":
        return repr(v.f)
    if kind == "bool":
        return "true" if v.b else "false"
    if kind == "string":
        return v.s.decode()
    if kind == "shape":
        return "?" if v.shape.unknown_rank else "x".join(str(d.size) for d in v.shape.dim)
    return None


def default_text(attr):
    v = attr.default_value
    kind = attr.type
    m = re.match(r"list\((\w+)\)", kind)
    if not m:
        return scalar(kind, v)
    values = {
        "int": [str(i) for i in v.list.i],
        "float": [repr(f) for f in v.list.f],
        "type": [type_name(t) for t in v.list.type],
        "string": [s.decode() for s in v.list.s],
        "bool": ["true" if b else "false" for b in v.list.b],
        "shape": [],
        "tensor": [],
        "func": [],
    }[m.group(1)]
    return "[" + ",".join(values) + "]"


def attr_text(attr):
    text = attr.name + ":" + attr.type
    if attr.HasField("default_value"):
        d = default_text(attr)
        if d is not None and not re.search(r'[\s"\\]', d):
            text += "=" + d
    return text


def main():
    names = {line.split("\t")[0] for line in open(sys.argv[1]) if line.strip() and not line.startswith("#")}
    names = {n for n in names | set(HOST_OPS) if not SKIPPED.match(n)}
    print("// Written by make_op_table.py from TensorFlow's op registry; one row per operation:")
    print("// name, inputs, outputs, attributes with defaults, whether it is stateful.")
    print("// clang-format off")
    # Our own: a cluster's function is found by name in the graph's library.
    print(
        'OP(XlaJitLaunch, "args:*Targs", "results:*Tresults", '
        '"Targs:list(type) Tresults:list(type) cluster:string own_results:bool=false", false)'
    )
    for name in sorted(names):
        op = op_def_registry.get(name)
        if op is None:
            continue
        row = [" ".join(arg_text(a) for a in op.input_arg), " ".join(arg_text(a) for a in op.output_arg)]
        row.append(" ".join(attr_text(a) for a in op.attr))
        text = ", ".join('"%s"' % r for r in row)
        print("OP(%s, %s, %s)" % (name, text, "true" if op.is_stateful else "false"))


main()
