"""Two processes over gloo: DDP (eager and compiled), FSDP2 and DTensor."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("distributed.py")


def test_two_processes_give_the_gradient_of_one(tmp_path):
    processes = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), str(rank), str(tmp_path / "store")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    outcomes = [process.communicate(timeout=240) for process in processes]
    for process, (out, err) in zip(processes, outcomes, strict=True):
        assert process.returncode == 0, err
        attached = ["attached_ddp", "attached_compiled_ddp", "attached_fsdp"]
        assert out.split() == ["ddp", "compiled_ddp", "fsdp", *attached, "dtensor"]
