"""Writes tests/maps/numpy.npz and numpy_compressed.npz: arrays as NumPy itself stores them.

Usage: python npz_fixture.py OUTPUT_FOLDER    (needs numpy)
"""
import pathlib
import sys

import numpy as np


def main():
    folder = pathlib.Path(sys.argv[1])
    arrays = {
        "f32": np.array([[0.5, -1.25, np.nan], [3.0, np.inf, 1e-40]], dtype="<f4"),
        "f64": np.array([1 / 3, -2.5e300], dtype="<f8"),
        "i32": np.array([-(2**31), 2**31 - 1], dtype="<i4"),
        "i64": np.array([[[-(2**63)], [2**63 - 1]]], dtype="<i8"),
        "scalar": np.array(7, dtype="<i4"),
        "empty": np.zeros((0, 3), dtype="<f4"),
    }
    np.savez(folder / "numpy.npz", **arrays)
    np.savez_compressed(folder / "numpy_compressed.npz", **arrays)


if __name__ == "__main__":
    main()
