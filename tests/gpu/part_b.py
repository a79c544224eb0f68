"""Part B of validate.sh: profwrap beside another profiler that uses CUPTI, mainly PyTorch's."""
import os

import libraries
from validate_run import HERE, KERNELS, Skipped, check, need_gpu, need_torch, opened, record


def profiled_with_torch(folder, mode):
    """(the output of the program, the rank file)."""
    need_gpu()
    said = record(folder, need_torch(), os.path.join(HERE, "with_torch.py"), mode).split()
    if "without" in said:
        raise Skipped("this PyTorch has no " + said[said.index("without") + 1])
    return said, opened(folder)


def launched_in(file):
    """The number of kernels launched in each range."""
    found = {}
    for kernel in file.rows("events/kernel"):
        name = file.texts[kernel["launched_by"]]
        found[name] = found.get(name, 0) + 1
    return found


def check_yields_and_comes_back():
    """profwrap stops while the other profiler records, and then continues. If CUPTI serves several
    tools (13.3 and later), it records meanwhile, too."""
    said, file = profiled_with_torch("torch", "profiled")
    theirs = int(said[said.index("theirs") + 1])
    gaps, kernels = file.rows("events/gap"), file.rows("events/kernel")
    taken = [gap for gap in gaps if gap["reason"] == "cupti_taken"]
    check(theirs >= 50, "PyTorch's profiler saw", theirs, "kernels")
    if not taken:
        check(len(kernels) >= 150, "no gap, and", len(kernels), "kernels")
        return f"theirs {theirs}; ours {len(kernels)}, with no gap"
    check(len(taken) == 1, "gaps:", [gap["reason"] for gap in gaps])
    before = sum(k["end"] <= taken[0]["start"] for k in kernels)
    after = sum(k["start"] >= taken[0]["end"] for k in kernels)
    check(before >= 50 and after >= 50 and before + after == len(kernels),
          before, "before,", after, "after, of", len(kernels))
    return f"theirs {theirs}; ours {before} before and {after} after the gap, none in it"


def check_toggled_and_stopped_twice():
    """PyTorch's profiler disables its activity kinds, and ours are enabled again. When it stops, it
    disables its kinds once more, which must not disable ours."""
    return comes_back_twice(profiled_with_torch("toggled", "toggled")[1])


def check_the_same_without_pytorch():
    """The same with a program that calls CUPTI itself."""
    need_gpu()
    theirs = int(record("second", KERNELS, "profiler", libraries.cupti()).split()[1])
    check(theirs >= 50, "it was told of", theirs, "kernels")
    return f"theirs {theirs}; " + comes_back_twice(opened("second"))


def comes_back_twice(file):
    found = launched_in(file)
    for name in ("before", "between", "after"):
        check(found.get(name, 0) >= 50, found.get(name, 0), "kernels", name, "in", found)
    return ", ".join(f"{found[name]} {name}" for name in ("before", "between", "after"))
