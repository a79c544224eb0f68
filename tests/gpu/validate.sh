#!/usr/bin/env bash
# Validates the recording of GPUs on a machine with one NVIDIA GPU; no network is needed.
#   tests/gpu/validate.sh [OPTION]... [A] [B] [C] [D]
#     --build DIR      where profwrap was built (../../build)
#     --record FILE    gets the date, the versions and each check's figure, as they become known
#     --limit S        the most a part may take (480), --patience S a program in it (120)
#     --overhead P     the most that level 1 may cost, in percent of a step (1)
#     --standin DIR    no GPU: the stand-ins that were built in DIR; tests the script, and nothing else
# Parts: A kernels by CUPTI, B beside PyTorch's profiler, C two NCCL ranks on one GPU, D NVML and the
# way to h5py; all unless some are named. What cannot be checked is skipped with its reason. Exit
# status 0 when all that was asked for passed, 1 when something failed, 77 when nothing could be
# checked.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../../build limit=480 patience=120 overhead=1
record='' standin=''
parts=()
while [ $# -gt 0 ]; do
    case $1 in
    --build | --record | --limit | --patience | --overhead | --standin)
        [ $# -ge 2 ] || { echo "validate.sh: $1 wants a value" >&2 && exit 2; }
        declare "${1#--}=$2" && shift
        ;;
    A | B | C | D) parts+=("$1") ;;
    *) sed -n '2,13s/^# //p' "$0" >&2 && exit 2 ;;
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
if [ -n "$standin" ]; then
    standin=$(cd "$standin" && pwd)
    export LD_LIBRARY_PATH=$standin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export PYTHONPATH=$here/standin/python STANDIN_LIBRARIES=$standin
    export STANDIN_CUPTI=$standin/libcupti.so.13 PROFWRAP_CUPTI=$standin/libcupti.so.13
fi
export PROFWRAP_VALIDATE_BUILD=$build PROFWRAP_VALIDATE_RECORD=$record
export PROFWRAP_VALIDATE_LIMIT_S=$limit PROFWRAP_VALIDATE_PATIENCE_S=$patience
export PROFWRAP_VALIDATE_OVERHEAD_PERCENT=$overhead
failed=0 passed=0
for part in "${parts[@]}"; do
    status=0
    timeout --kill-after=10 "$limit" "$python" -B "$here/validate.py" "$part" || status=$?
    case $status in
    0) passed=1 ;;
    2) exit 2 ;;
    77) ;;
    124 | 137)
        echo "FAILED   part $part: took more than $limit s"
        [ -z "$record" ] || echo "| $part | FAILED | took more than $limit s |" >>"$record"
        failed=1
        ;;
    *) failed=1 ;;
    esac
done
[ $failed -eq 0 ] || exit 1
[ $passed -eq 1 ] || exit 77
