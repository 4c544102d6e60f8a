"""Writes tests/checkpoint/split-0000i-of-00003.gguf: five tensors in three parts, as gguf splits them.

    python tools/golden/gguf_split_fixture.py      (needs: pip install gguf numpy)
"""

import pathlib

import gguf
import numpy as np

FOLDER = pathlib.Path(__file__).parents[2] / "tests" / "checkpoint"


def main():
    path = FOLDER / "split.gguf"
    writer = gguf.GGUFWriter(path, "llama", split_max_tensors=2)
    writer.add_string("general.name", "split")
    for i in range(5):
        writer.add_tensor(f"t{i}", np.arange(4, dtype=np.float32).reshape(2, 2) + 10 * i)
    writer.write_header_to_file(path)
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    for part in sorted(FOLDER.glob("split-*.gguf")):
        reader = gguf.GGUFReader(part)
        print(part.name, [tensor.name for tensor in reader.tensors], list(reader.fields))


if __name__ == "__main__":
    main()
