"""Writes a table of what gguf's own dequantisation makes of every tensor of a GGUF file.

A line per tensor: name, type, shape (row-major) and the checksum sum_i (i + 1) bits_i mod 2^64 over
the bits of its elements as f32.

    python tools/golden/gguf_checksums.py MODEL.gguf >tests/checkpoint/real_NAME.txt
                                                    (needs: pip install gguf numpy)
"""

import sys

import gguf
import numpy as np


def main():
    for tensor in gguf.GGUFReader(sys.argv[1]).tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        bits = values.reshape(-1).view(np.uint32).astype(np.uint64)
        with np.errstate(over="ignore"):
            checksum = (bits * np.arange(1, bits.size + 1, dtype=np.uint64)).sum(dtype=np.uint64)
        shape = "x".join(str(int(extent)) for extent in reversed(tensor.shape))
        print(tensor.name, tensor.tensor_type.name, shape, f"{int(checksum):016x}")


if __name__ == "__main__":
    main()
