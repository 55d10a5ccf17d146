"""Pins a benchmark to one core and names what it ran on."""

import os
import platform
from importlib import metadata


def pin_to_one_core() -> int:
    """Binds this process, its later threads and children to one of its cores, and returns the core's number.

    To be called before NumPy, Numba or JAX start threads.
    """
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["JAX_PLATFORMS"] = "cpu"
    return core


def version_of(package: str) -> str | None:
    """Installed version of a package, None if it is missing."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def describe(core: int | None, packages: tuple[str, ...] = ()) -> str:
    """Lines that name the processor, the core (None: not pinned), its load, and versions of Python and packages."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown")
    versions = [f"Python {platform.python_version()}"]
    versions += [f"{package} {version_of(package) or 'missing'}" for package in ("numpy", "numba", *packages)]
    load = os.getloadavg()[0]
    pinned = "not pinned" if core is None else f"pinned to core {core}"
    return (
        f"machine: {cpu}, {os.cpu_count()} cores, {pinned}, load {load:.1f} at the start\n"
        f"versions: {', '.join(versions)}"
    )
