"""Whole processes, measured: what the comparisons of this folder share."""

import os
import subprocess
import sys
import tempfile
import time


def run(command):
    """Seconds, peak resident bytes and standard output of a whole process."""
    command = [str(part) for part in command]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        if status != 0:
            sys.exit(f"failed: {' '.join(command)}")
        output.seek(0)
        return seconds, usage.ru_maxrss * 1024, output.read().decode()


def seconds_of(text):
    """What a peer prints as 'seconds S'."""
    return float(text.split("seconds ")[1].split()[0])
