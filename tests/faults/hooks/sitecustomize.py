"""What the fault lab does in each process of a call, by environment variables; Python imports it.

LAB_TRACE: a folder in which each process leaves the modules of the library that it loaded.
LAB_SLOW: the most seconds that a write to the disk takes longer.
LAB_CLOCK: the clock jumps forward or back by so many seconds.
LAB_CORES: the process may use one core alone.
LAB_FILES, LAB_SIZE: a job may have so many files open, or write files of so many bytes.
"""

import atexit
import itertools
import os
import random
import resource
import sys
import time

IS_JOB = "snakemake" not in sys.orig_argv


def trace(folder):
    def leave():
        names = [name for name in sys.modules if name.startswith("dmlbench.")]
        files = [sys.modules[name].__file__ for name in names]
        with open(os.path.join(folder, str(os.getpid())), "w") as file:
            file.write("".join(f"{each.partition('/dmlbench/')[2]}\n" for each in files if each))

    # Jobs alone: Snakemake itself loads the plan.
    if IS_JOB:
        atexit.register(leave)


def slow(most):
    fsync = os.fsync

    def slowly(descriptor):
        time.sleep(random.uniform(0, most))
        fsync(descriptor)

    os.fsync = slowly


def jump(seconds):
    now, now_ns, calls = time.time, time.time_ns, itertools.count()
    time.time = lambda: now() - seconds * (next(calls) % 2)
    time.time_ns = lambda: now_ns() - int(seconds * 1e9) * (next(calls) % 2)


if "LAB_TRACE" in os.environ:
    trace(os.environ["LAB_TRACE"])
if "LAB_SLOW" in os.environ:
    slow(float(os.environ["LAB_SLOW"]))
if "LAB_CLOCK" in os.environ:
    jump(float(os.environ["LAB_CLOCK"]))
if "LAB_CORES" in os.environ:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
for name, limit in {"FILES": resource.RLIMIT_NOFILE, "SIZE": resource.RLIMIT_FSIZE}.items():
    if IS_JOB and f"LAB_{name}" in os.environ:
        resource.setrlimit(limit, (int(os.environ[f"LAB_{name}"]), resource.getrlimit(limit)[1]))
