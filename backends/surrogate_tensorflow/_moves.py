"""Ops that move elements, whatever these are: they do the same to a float twin."""

from __future__ import annotations

#: Ops that move, copy or choose elements, whatever these are.
MOVES = frozenset(
    [
        "Reshape",
        "Transpose",
        "Pack",
        "Unpack",
        "ConcatV2",
        "StridedSlice",
        "Slice",
        "Tile",
        "Squeeze",
        "ExpandDims",
        "BroadcastTo",
        "GatherV2",
        "GatherNd",
        "Identity",
        "Split",
        "SplitV",
        "ReverseV2",
        "Pad",
        "PadV2",
        "MirrorPad",
        "Roll",
        "Snapshot",
        "MatrixDiagV3",
        "MatrixDiagPartV3",
        "TensorScatterUpdate",
        "TensorStridedSliceUpdate",
        "BatchToSpaceND",
        "SpaceToBatchND",
        "EnsureShape",
        "ResourceGather",
        "DiagPart",
        "MatrixBandPart",
    ]
)
#: Those of one tensor's elements.
MOVES_ONE = MOVES - {"Pack", "ConcatV2", "TensorScatterUpdate", "TensorStridedSliceUpdate"} | {"Cast"}
#: Those that change the shape alone.
RESHAPED = frozenset({"Reshape", "Squeeze", "ExpandDims"})
