"""The libraries that tilewright is compared with: numpy on OpenBLAS, and onnxruntime."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

OPSET = 23  # the first with Attention and RMSNormalization
ELEMENTS = {
    np.dtype("float32"): TensorProto.FLOAT,
    np.dtype("int64"): TensorProto.INT64,
    np.dtype("uint16"): TensorProto.BFLOAT16,
}


class Graph:
    """An ONNX graph under construction: adds nodes and constants, and names what they give."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def op(self, kind: str, *inputs: str, **attributes: object) -> str:
        """Appends a node with one output."""
        name = f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, value: np.ndarray) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(onnx.numpy_helper.from_array(value, name))
        return name

    def model(
        self, inputs: dict[str, np.ndarray], output: str, shape: tuple, element: int
    ) -> bytes:
        graph = helper.make_graph(
            self._nodes,
            "benchmark",
            [
                helper.make_tensor_value_info(name, ELEMENTS[x.dtype], x.shape)
                for name, x in inputs.items()
            ],
            [helper.make_tensor_value_info(output, element, shape)],
            self._constants,
        )
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=11)
        return model.SerializeToString()


def onnx_call(
    graph: Graph,
    inputs: dict[str, np.ndarray],
    output: str,
    shape: tuple,
    threads: int,
    element: int = TensorProto.FLOAT,
) -> Callable[[], ort.OrtValue]:
    """Runs the graph on these inputs, into memory that is allocated once."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Its threads spin while it works and not when it is done: others are measured, too.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = ort.InferenceSession(
        graph.model(inputs, output, shape, element), options, providers=["CPUExecutionProvider"]
    )
    binding = session.io_binding()
    for name, x in inputs.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(x))
    kind = np.float32 if element == TensorProto.FLOAT else element
    result = ort.OrtValue.ortvalue_from_shape_and_type(shape, kind)
    binding.bind_ortvalue_output(output, result)

    def call() -> ort.OrtValue:
        session.run_with_iobinding(binding)
        return result

    return call


def onnx_op(
    kind: str,
    inputs: list[np.ndarray],
    shape: tuple,
    threads: int,
    element: int = TensorProto.FLOAT,
    **attributes: object,
) -> Callable[[], ort.OrtValue]:
    """A graph of one operation."""
    graph = Graph()
    named = {f"x{i}": x for i, x in enumerate(inputs)}
    output = graph.op(kind, *named, **attributes)
    return onnx_call(graph, named, output, shape, threads, element)


def versions() -> dict[str, str]:
    return {"numpy": np.__version__, "onnxruntime": ort.__version__}
