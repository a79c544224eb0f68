#!/usr/bin/env bash
# Validates the recording of GPUs on a machine with one NVIDIA GPU; no network is needed.
#   tests/gpu/validate.sh [--build DIR] [--record FILE] [A] [B] [C] [D]
# Parts: A kernels by CUPTI, B beside PyTorch's profiler, C two NCCL ranks on one GPU, D NVML and the
# way to h5py; all unless some are named. A part takes 8 minutes at most. What cannot be checked is
# skipped with its reason. FILE gets the date, the versions and each check's figure; exit status 0
# when all that was asked for passed, 1 when something failed, 77 when nothing could be checked.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../../build
record=
parts=()
while [ $# -gt 0 ]; do
    case $1 in
    --build) build=$2 && shift ;;
    --record) record=$2 && shift ;;
    A | B | C | D) parts+=("$1") ;;
    *) sed -n '2,9s/^# //p' "$0" >&2 && exit 2 ;;
    esac
    shift
done
[ ${#parts[@]} -gt 0 ] || parts=(A B C D)
python=
for candidate in "${PROFWRAP_VALIDATE_PYTHON:-python3}" /usr/bin/python3; do
    if [ -z "$python" ] && "$candidate" -c 'import h5py' 2>/dev/null; then python=$candidate; fi
done
if [ -z "$python" ]; then
    echo "skipped: no Python with h5py (PROFWRAP_VALIDATE_PYTHON names one)"
    exit 77
fi
failed=0 passed=0
for part in "${parts[@]}"; do
    status=0
    timeout --kill-after=10 480 "$python" -B "$here/validate.py" "$part" "$build" "$record" ||
        status=$?
    case $status in
    0) passed=1 ;;
    77) ;;
    124 | 137) echo "part $part: took more than 8 minutes" && failed=1 ;;
    *) failed=1 ;;
    esac
done
[ $failed -eq 0 ] || exit 1
[ $passed -eq 1 ] || exit 77
