"""What the C library is asked for, seen in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]

HEAPS = """
import ctypes, sys, threading
from mtbot.processes.spawner import kernel

asked = kernel.share_one_heap() if sys.argv[1] == "shared" else None
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
libc.fclose.argtypes = [ctypes.c_void_p]
meet = threading.Barrier(4)

def take():
    meet.wait()
    libc.malloc(100)
    meet.wait()

threads = [threading.Thread(target=take) for _ in range(4)]
for one in threads:
    one.start()
for one in threads:
    one.join()
out = libc.fopen(b"/dev/stdout", b"w")
libc.malloc_info(0, out)
libc.fclose(out)
print(asked)
"""


@pytest.mark.parametrize(("how", "one"), [("shared", True), ("as it is", False)])
def test_threads_share_one_heap_where_it_was_asked_for(how: str, one: bool) -> None:
    """Elsewhere glibc gives them more."""
    said = subprocess.run(
        [sys.executable, "-c", HEAPS, how], capture_output=True, text=True, check=True, timeout=60, cwd=ROOT
    ).stdout
    assert (said.count("<heap nr=") == 1) is one
    assert said.splitlines()[-1] == ("True" if one else "None")
