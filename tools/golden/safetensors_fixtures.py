"""Writes tests/checkpoint/types.safetensors, types.npz and the folder tests/checkpoint/sharded.

The first holds a tensor of every type that safetensors' own writer knows and PosLens opens, the
archive what numpy makes of the real ones as f32. The folder is a state dictionary in shards, as
huggingface_hub cuts them, with sharded.npz beside it.

    python tools/golden/safetensors_fixtures.py   (needs: pip install safetensors huggingface_hub torch numpy)
"""

import json
import pathlib

import huggingface_hub
import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file

FOLDER = pathlib.Path(__file__).parents[2] / "tests" / "checkpoint"


def real_tensors(generator):
    doubles = torch.tensor([0.1, -1e300, 1e-300, 2.0**-149, 1.0 + 2.0**-24, 1.0 + 3 * 2.0**-24,
                            -0.0, float("inf")], dtype=torch.float64)
    return {
        "f64": doubles.reshape(2, 4),
        "f32": torch.randn(3, 5, generator=generator),
        "f16": torch.randn(4, 7, generator=generator).to(torch.float16),
        "bf16": torch.randn(2, 3, 4, generator=generator).to(torch.bfloat16),
        "scalar": torch.tensor(2.5),
        "empty": torch.empty(0, 3),
    }


def main():
    generator = torch.Generator().manual_seed(20261130)
    tensors = real_tensors(generator)
    with np.errstate(over="ignore"):
        expected = {name: tensor.double().numpy().astype(np.float32)
                    for name, tensor in tensors.items()}
    kinds = {"bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "u16": torch.uint16,
             "i16": torch.int16, "u32": torch.uint32, "i32": torch.int32, "u64": torch.uint64,
             "i64": torch.int64, "f8_e4m3": torch.float8_e4m3fn, "f8_e5m2": torch.float8_e5m2}
    others = {name: torch.zeros(3).to(kind) for name, kind in kinds.items()}
    path = FOLDER / "types.safetensors"
    save_file({**tensors, **others}, path, metadata={"format": "pt"})
    with safe_open(path, "pt") as file:
        for name in tensors:
            assert torch.equal(file.get_tensor(name), tensors[name]), name
    np.savez_compressed(FOLDER / "types.npz", **expected)

    sharded = FOLDER / "sharded"
    sharded.mkdir(exist_ok=True)
    for old in sharded.iterdir():
        old.unlink()
    state = {f"layers.{i}.weight": torch.randn(4, 5, generator=generator).to(torch.bfloat16)
             for i in range(5)}
    huggingface_hub.save_torch_state_dict(state, sharded, max_shard_size=80)
    (sharded / "config.json").write_text(json.dumps({"model_type": "llama"}) + "\n")
    np.savez_compressed(FOLDER / "sharded.npz",
                        **{name: tensor.float().numpy() for name, tensor in state.items()})
    for file in sorted(sharded.iterdir()):
        print(file.name, file.stat().st_size)


if __name__ == "__main__":
    main()
