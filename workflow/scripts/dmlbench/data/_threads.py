"""Process the images of a batch on the threads of a CPU."""

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch


def on_threads(work: Callable[[slice], None], count: int) -> None:
    """Call `work` with slices covering `count` images, on as many threads as torch may use.

    Within a slice torch uses one thread: for a single image, synchronizing several threads takes
    longer than computing.
    """
    allowed = torch.get_num_threads()
    threads = min(allowed, count)
    if threads < 2:
        work(slice(None))
        return
    inference = torch.is_inference_mode_enabled()

    def alone(part: slice) -> None:
        with torch.inference_mode(inference):
            work(part)

    try:
        list(_pool(threads).map(alone, [slice(first, None, threads) for first in range(threads)]))
    finally:
        # New threads start with the number that any thread has set last.
        torch.set_num_threads(allowed)


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(
        threads, "dmlbench-images", initializer=torch.set_num_threads, initargs=(1,)
    )
