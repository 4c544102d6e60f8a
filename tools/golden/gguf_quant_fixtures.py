"""Writes tests/checkpoint/quants.gguf and quants.npz.

The GGUF file holds tensors of every supported type, by gguf's own writer; the archive holds what
gguf's own dequantisation makes of them. Scales include zeros, subnormals and the largest half; the
plain 16-bit tensors have infinities too.

    python tools/golden/gguf_quant_fixtures.py      (needs: pip install gguf numpy)
"""

import pathlib

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

FOLDER = pathlib.Path(__file__).parents[2] / "tests" / "checkpoint"
# Elements of a row: several blocks of each type.
ROWS, SHORT, LONG = 3, 96, 512

# Where the halves stand in a block.
SCALES = {Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q8_0: [0],
          Type.Q2_K: [80, 82], Type.Q3_K: [108], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2],
          Type.Q6_K: [208], Type.IQ4_NL: [0], Type.IQ4_XS: [0]}


def halves(generator, shape):
    """Halves of all kinds, NaN excepted: its sign and payload are nobody's business."""
    bits = generator.integers(0, 1 << 16, shape, dtype=np.uint16)
    bits = np.where((bits & 0x7C00) == 0x7C00, bits & 0xFC00, bits)
    special = np.array([0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF,
                        0x7C00, 0xFC00, 0x3C00, 0x3555], dtype=np.uint16)
    flat = bits.reshape(-1)
    count = min(flat.size, special.size)
    flat[:count] = special[:count]
    return flat.reshape(shape).view(np.float16)


def random_blocks(generator, kind):
    """Raw blocks of a quantised type with random contents; halves in the scales."""
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = ROWS * (SHORT if elements == 32 else LONG) // elements
    raw = generator.integers(0, 256, (blocks, size), dtype=np.uint8)
    scales = len(SCALES[kind])
    # Half of the scales are of the usual size. Infinities would make NaN of zero elements.
    usual = generator.normal(0, 0.05, (blocks, scales)).astype(np.float16)
    odd = halves(generator, (blocks, scales))
    odd = np.where(np.isinf(odd), np.float16(65504), odd)
    chosen = np.where(np.arange(blocks)[:, None] % 2 == 0, usual, odd)
    for i, offset in enumerate(SCALES[kind]):
        raw[:, offset : offset + 2] = np.ascontiguousarray(chosen[:, i : i + 1]).view(np.uint8)
    return raw.reshape(ROWS, -1)


def main():
    generator = np.random.default_rng(20240917)
    tensors = {
        "f32": (generator.normal(0, 1, (ROWS, 7)).astype(np.float32), Type.F32),
        "f16": (halves(generator, (64, 32)), Type.F16),
        "bf16": ((generator.integers(0, 1 << 16, (16, 33), dtype=np.uint16) & 0xFF7F)
                 .view(np.uint8), Type.BF16),
        "vector": (halves(generator, (13,)), Type.F16),
        "cube": (generator.normal(0, 1, (2, 3, 5)).astype(np.float32), Type.F32),
    }
    for kind in SCALES:
        tensors[kind.name.lower()] = (random_blocks(generator, kind), kind)
    values = generator.normal(0, 1, (3, 64)).astype(np.float32)
    for kind in (Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1):
        quantised = gguf.quants.quantize(values, kind)
        tensors[kind.name.lower() + "_usual"] = (quantised, kind)

    path = FOLDER / "quants.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_string("general.name", "quants")
    expected = {}
    with np.errstate(invalid="ignore"):
        for name, (data, kind) in tensors.items():
            # Quantised and bfloat16 data go in as bytes; the writer turns their shape into elements.
            raw = kind if data.dtype == np.uint8 else None
            writer.add_tensor(name, data, raw_dtype=raw)
            expected[name] = gguf.quants.dequantize(data, kind).astype(np.float32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    # Read back through gguf's reader: the file says what we mean.
    for tensor in gguf.GGUFReader(path).tensors:
        again = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        shape = [int(extent) for extent in reversed(tensor.shape)]
        assert np.array_equal(again.reshape(shape).view(np.uint32),
                              expected[tensor.name].reshape(shape).view(np.uint32)), tensor.name
        expected[tensor.name] = np.ascontiguousarray(again.reshape(shape))
    for name, array in expected.items():
        assert not np.isnan(array).any(), name
    np.savez_compressed(FOLDER / "quants.npz", **expected)
    for name, array in expected.items():
        print(f"{name:12} {list(array.shape)}")


if __name__ == "__main__":
    main()
