"""Part D of validate.sh: NVML, and the complete way from the recording to the report."""
import os

import libraries
from validate_run import (KERNELS, PROFWRAP, Skipped, check, is_standin, need_gpu, opened,
                          percentile, profiled, run)

# Prints how many kernels there are, and the first device's name.
BY_H5PY = """
import h5py
with h5py.File("whole/rank-00000.h5", "r") as file:
    print(h5py.__version__, len(file["events/kernel"]), file["devices"][0]["name"].decode())
"""


def check_nvml_cost():
    need_gpu()
    # Some seconds more than the GPU's driver may need to begin.
    file = profiled("nvml", KERNELS, "kernels", 15000 if is_standin() else 40000, 200000,
                    options=("--sample-hz", 10))
    samples, found = file.rows("samples/gpu"), file.overhead()
    check(len(samples) >= 20, len(samples), "samples")
    clocks = [sample["sm_clock_mhz"] for sample in samples]
    check(percentile(clocks, 10) > 0, "clocks are not readable")
    share = found["nvml_sample"] * 10 / 1e9
    check(share <= 0.2, f"reading takes {100 * share:.0f} % of a core at 10 Hz")
    watts = max(sample["power_mw"] for sample in samples) / 1000
    return (f"{found['nvml_sample'] / 1e6:.2f} ms a sample of the collector's time; "
            f"{max(clocks)} MHz, {watts:.0f} W at most")


def whole():
    """The rank file of a run that the checks share, with the merge that profwrap makes by
    default."""
    need_gpu()
    if not os.path.exists("whole"):
        run([PROFWRAP, "--quiet", "-o", "whole", KERNELS, "kernels", 1000])
    return opened("whole")


def check_whole_way():
    file = whole()
    devices = file.rows("devices")
    kernels = len(file.rows("events/kernel"))
    check(kernels == 1000, kernels, "kernels instead of 1000")
    check(devices and devices[0]["uuid"].startswith("GPU-"), devices)
    if not os.path.exists("whole/cluster.h5"):
        run([PROFWRAP, "merge", "whole"])
        check(False, "the run was not merged, but can be")
    return f"1000 kernels of {devices[0]['name']}, merged"


def check_h5py():
    whole()
    for python in libraries.pythons():
        if libraries.ask(python, "import h5py")[0] is None:
            continue
        said, why = libraries.ask(python, BY_H5PY)
        check(said, why)
        version, kernels, device = said.strip().split(" ", 2)
        check(kernels == "1000", kernels, "kernels instead of 1000")
        return f"h5py {version} reads 1000 kernels of {device}"
    raise Skipped("no Python with h5py")
