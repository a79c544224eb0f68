#!/usr/bin/env bash
# Validates the recording of GPUs on a machine with one NVIDIA GPU; no network is needed.
#   tests/gpu/validate.sh [OPTION]... [A] [B] [C] [D]
#     --build DIR      where profwrap was built (../../build), or the folder that `pack` made (../..)
#     --record FILE    gets the date, the versions and each check's figure, as they become known;
#                      a folder: gpu-DATE.md in it
#     --keep DIR       gets the logs and rank files of checks that failed; with the record in the same
#                      folder no more than 8 files of 16 MiB
#     --limit S        the most that all parts may take together (540), --patience S a program (120)
#     --overhead P     the most that level 1 may cost, in percent of a step (1)
#     --only PATTERN   only the checks whose names match, of the parts
#     --standin DIR    no GPU: the stand-ins that were built in DIR; tests the script, and nothing else
# Parts: A kernels by CUPTI, B beside PyTorch's profiler, C two NCCL ranks on one GPU, D NVML and the
# way to h5py; all unless some are named. Where a command may take 10 minutes, give A one of its own.
# What cannot be checked is skipped with its reason. Exit status 0 when all that was asked for passed,
# 1 when something failed, 77 when nothing could be checked.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build='' limit=540 patience=120 overhead=1
record='' keep='' only='' standin=''
parts=()
while [ $# -gt 0 ]; do
    case $1 in
    --build | --record | --keep | --limit | --patience | --overhead | --only | \
        --standin)
        [ $# -ge 2 ] || { echo "validate.sh: $1 wants a value" >&2 && exit 2; }
        declare "${1#--}=$2" && shift
        ;;
    A | B | C | D) parts+=("$1") ;;
    *) sed -n '2,18s/^# //p' "$0" >&2 && exit 2 ;;
    esac
    shift
done
[ ${#parts[@]} -gt 0 ] || parts=(A B C D)
for candidate in "$here/../../build" "$here/../.."; do
    [ -n "$build" ] || [ ! -x "$candidate/bin/profwrap" ] || build=$candidate
done
python=
for candidate in "${PROFWRAP_VALIDATE_PYTHON:-python3}" /usr/bin/python3; do
    if [ -z "$python" ] && "$candidate" -c '' 2>/dev/null; then python=$candidate; fi
done
if [ -z "$python" ]; then
    echo "skipped: no Python (PROFWRAP_VALIDATE_PYTHON names one)"
    exit 77
fi
if [ -n "$standin" ]; then
    standin=$(cd "$standin" && pwd)
    export LD_LIBRARY_PATH=$standin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export PYTHONPATH=$here/standin/python STANDIN_LIBRARIES=$standin
    export STANDIN_CUPTI=$standin/libcupti.so.13 PROFWRAP_CUPTI=$standin/libcupti.so.13
fi
[ ! -d "$record" ] || printf -v record "%s/gpu-%(%Y-%m-%d)T.md" "$record" -1
export PROFWRAP_VALIDATE_BUILD=$build PROFWRAP_VALIDATE_RECORD=$record PROFWRAP_VALIDATE_KEEP=$keep
export PROFWRAP_VALIDATE_ONLY=$only PROFWRAP_VALIDATE_PATIENCE_S=$patience
export PROFWRAP_VALIDATE_OVERHEAD_PERCENT=$overhead
# A part gets its share of the time that is left; what it does not use is the next ones'.
declare -A weight=([A]=4 [B]=2 [C]=3 [D]=2)
failed=0 passed=0
for ((i = 0; i < ${#parts[@]}; i++)); do
    part=${parts[i]} status=0 weights=0
    for later in "${parts[@]:i}"; do weights=$((weights + weight[$later])); done
    share=$(((limit - SECONDS) * weight[$part] / weights))
    [ $share -gt 0 ] || share=1
    export PROFWRAP_VALIDATE_LIMIT_S=$share
    timeout --kill-after=10 "$share" "$python" -B "$here/validate.py" "$part" || status=$?
    case $status in
    0) passed=1 ;;
    2) exit 2 ;;
    77) ;;
    124 | 137)
        echo "FAILED   part $part: took more than $share s"
        [ ! -f "$record" ] || echo "| $part | FAILED | took more than $share s |" >>"$record"
        failed=1
        ;;
    *) failed=1 ;;
    esac
done
[ $failed -eq 0 ] || exit 1
[ $passed -eq 1 ] || exit 77
