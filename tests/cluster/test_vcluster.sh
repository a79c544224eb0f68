#!/bin/bash
# Tests the virtual cluster itself, as a user would use it: what a host looks like, that every
# command has its effect, and that nothing is left behind in any of the ways to end. Takes the build
# directory that has the helpers. Exits 77 with the reason where the machine cannot do it.
# shellcheck disable=SC2016 # single quotes: for the shells on the hosts, and for eval
set -u

bin=$(realpath -- "$1")
vcluster=$bin/vcluster
check=$bin/vcluster_check
scratch=$(mktemp -d)
failures=0
port=5555

# --- harness --------------------------------------------------------------------------------------

say() {
    printf '%-4s %s\n' "$1" "$2"
}

expect() { # DESCRIPTION COMMAND...
    local what=$1
    shift
    if "$@"; then
        say ok "$what"
    else
        say FAIL "$what"
        failures=$((failures + 1))
    fi
}

is_between() { # LEAST NUMBER MOST
    [ "$1" -le "$2" ] && [ "$2" -le "$3" ]
}

vc() {
    timeout 60 "$vcluster" "$@"
}

use_instance() {
    export VCLUSTER_STATE=$scratch/$1
}

clean_up() {
    local state
    for state in "$scratch"/*/; do
        [ ! -d "$state" ] || vc --state "$state" down
    done
    rm -rf -- "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- what an instance may leave -------------------------------------------------------------------

# The namespaces of this instance, as the kernel names them; the machine's own are left out.
remember_namespaces() {
    local host
    for host in login $(vc hosts); do
        vc exec "$host" sh -c 'cd /proc/self/ns && readlink net mnt uts pid time'
    done | grep -vxFf <(readlink /proc/self/ns/*) >"$scratch/namespaces"
}

instance_id() {
    printf '%s %s' "$(stat -c %d:%i /)" "$VCLUSTER_STATE" | cksum | cut -d ' ' -f 1
}

# The kernel gives the number of a namespace that is gone to the next one, which may be another
# instance's: processes in another's control group do not count.
namespaces_in_use() {
    local process
    find /proc/[0-9]*/ns -type l -printf '%h %l\n' 2>/dev/null |
        awk 'NR == FNR { ours[$1]; next } $2 in ours { print $1 }' "$scratch/namespaces" - |
        sort -u | while read -r process; do
        grep -q "vcluster-" "${process%/ns}/cgroup" 2>/dev/null &&
            ! grep -q "vcluster-$(instance_id)-" "${process%/ns}/cgroup" || echo "$process"
    done
    grep -wFf <(grep -o '[0-9]*' "$scratch/namespaces") /proc/self/mountinfo | grep nsfs
}

# Prints whatever there is of the instance in VCLUSTER_STATE.
traces() {
    local id
    id=$(instance_id)
    find /sys/fs/cgroup -maxdepth 3 -name "vcluster-$id-*" 2>/dev/null
    grep -lE "vcluster-$id-" /proc/[0-9]*/cgroup 2>/dev/null
    pgrep -af "vcluster_(host|switch).* $VCLUSTER_STATE/"
    grep -F "$VCLUSTER_STATE" /proc/self/mountinfo
    ls -d "$VCLUSTER_STATE" /run/netns/vcluster* 2>/dev/null
    ip -o link | grep -E ': (port[0-9]+|h[0-9]+)[@:]'
    [ ! -e "$scratch/namespaces" ] || namespaces_in_use
}

# The kernel takes namespaces apart in the background.
leaves_nothing() {
    for _ in $(seq 100); do
        [ -n "$(traces)" ] || return 0
        sleep 0.05
    done
    traces
    return 1
}

# --- what a host is -------------------------------------------------------------------------------

test_identity() {
    local host
    for host in $(vc hosts) login; do
        expect "$host is called $host" [ "$(vc exec "$host" hostname)" = "$host" ]
    done
    expect "four hosts" [ "$(vc hosts | xargs)" = "h1 h2 h3 h4" ]
    expect "an own pid namespace" [ "$(vc exec h1 cat /proc/1/comm)" = vcluster_host ]
    expect "only eth0 and lo" [ "$(vc exec h1 ls /sys/class/net | xargs)" = "eth0 lo" ]
    expect "the exit status of exec" [ "$(vc exec h1 sh -c 'exit 7'; echo $?)" = 7 ]
    expect "the same directory" [ "$(vc exec h1 pwd)" = "$PWD" ]
}

test_private_dirs() {
    local dir
    for dir in /tmp /run /dev/shm; do
        vc exec h1 touch "$dir/vcluster-only-h1"
        expect "$dir is private" [ ! -e "$dir/vcluster-only-h1" ]
        expect "$dir is not shared by hosts" vc exec h2 test ! -e "$dir/vcluster-only-h1"
    done
    expect "the helpers are visible" vc exec h2 test -x "$check"
}

# RAW minus REALTIME, inside less outside: REALTIME is the same clock in both.
clock_error_ns() { # HOST OFFSET_NS
    local inside outside
    inside=$(vc exec "$1" "$check" clock)
    outside=$("$check" clock)
    echo $((inside - outside - $2))
}

test_clocks() {
    local host offset_ns relative_ns error_ns first_ns
    first_ns=$(vc truth | awk 'NR == 1 { print $2 }')
    while read -r host offset_ns relative_ns; do
        error_ns=$(clock_error_ns "$host" "$offset_ns" </dev/null)
        expect "$host's clock is as truth says; error $error_ns ns" \
            is_between -50000 "$error_ns" 50000
        expect "$host's relative offset" [ "$relative_ns" = $((offset_ns - first_ns)) ]
    done < <(vc truth)
}

# --- what can be done to a host -------------------------------------------------------------------

test_slow() {
    local free_ms slow_ms
    free_ms=$(vc exec h2 "$check" spin 100)
    vc slow h2 10
    slow_ms=$(vc exec h2 "$check" spin 100)
    vc slow h2 off
    expect "100 ms of CPU: $free_ms ms, at 10 % $slow_ms ms" is_between 500 "$slow_ms" 20000
    # Nearly as fast as before it was slowed, on a machine that may be busy itself.
    expect "slow off" is_between 1 "$(vc exec h2 "$check" spin 100)" $((3 * free_ms + 300))
    expect "slow 0 is refused" eval '! vc slow h2 0 2>/dev/null'
}

test_cpus() {
    expect "cpus h2 0" vc cpus h2 0
    expect "h2 has one CPU" [ "$(vc exec h2 nproc)" = 1 ]
    vc cpus h2 "0-$(($(nproc) - 1))"
}

test_freeze() {
    local spun=$scratch/spun pid
    vc exec h3 "$check" spin 1000 >"$spun" &
    pid=$!
    for _ in $(seq 100); do
        vc exec h3 pgrep vcluster_check >/dev/null && break
    done
    vc freeze h3
    sleep 1.5
    expect "a frozen host computes nothing" [ ! -s "$spun" ]
    vc thaw h3
    wait "$pid"
    expect "it goes on after thaw; $(cat "$spun") ms" is_between 2300 "$(cat "$spun")" 20000
}

# Kills a host under a running job; leaves the host dead.
test_kill() {
    local start_ns pid status elapsed_ms
    [ -x "$bin/vcluster_hello" ] || return 0
    vc mpirun -np 8 "$bin/vcluster_hello" 40 >"$scratch/job" 2>&1 &
    pid=$!
    for _ in $(seq 200); do
        [ "$(grep -c ^rank "$scratch/job")" = 8 ] && break
        sleep 0.05
    done
    start_ns=$(date +%s%N)
    vc kill h4
    wait "$pid"
    status=$?
    elapsed_ms=$((($(date +%s%N) - start_ns) / 1000000))
    expect "mpirun notices a killed host; status $status" [ "$status" != 0 ]
    expect "within $elapsed_ms ms" is_between 0 "$elapsed_ms" 10000
    expect "no exec on a dead host" eval '! vc exec h4 true 2>/dev/null'
    expect "the others live" vc exec h3 true
}

# --- between hosts --------------------------------------------------------------------------------

test_mpirun() {
    local host
    if [ ! -x "$bin/vcluster_hello" ]; then
        say skip "mpirun: built without MPI"
        return
    fi
    vc mpirun -np 8 "$bin/vcluster_hello" >"$scratch/hello" 2>"$scratch/hello.err" ||
        cat "$scratch/hello.err"
    for host in $(vc hosts); do
        expect "two ranks on $host" [ "$(grep -c "of 8 on $host\$" "$scratch/hello")" = 2 ]
    done
    vc mpirun -np 2 --host h2,h3 hostname >"$scratch/hello" 2>/dev/null
    expect "--host places ranks" [ "$(grep ^h "$scratch/hello" | sort | xargs)" = "h2 h3" ]
    VC_TEST=1 vc mpirun -np 1 sh -c 'echo "env=$VC_TEST"' >"$scratch/hello" 2>/dev/null
    expect "the environment does not travel by itself" grep -qx env= "$scratch/hello"
    VC_TEST=1 vc mpirun -x VC_TEST -np 1 sh -c 'echo "env=$VC_TEST"' >"$scratch/hello" 2>/dev/null
    expect "mpirun -x exports it" grep -qx env=1 "$scratch/hello"
}

measure_path() { # sets both_us, there_us and back_us between h1 and h2
    read -r both_us there_us back_us < <(vc exec h1 "$check" rtt h2 "$port" |
        awk '{ printf "%d %d %d\n", $1 / 1000, $2 / 1000, $3 / 1000 }')
}

test_delay() {
    local pid
    "$vcluster" exec h2 "$check" echo "$port" &
    pid=$!
    measure_path
    expect "no delay: round trip $both_us us" is_between 1 "$both_us" 2000
    vc delay h1 h2 5000
    measure_path
    expect "5 ms there: round trip $both_us us" is_between 5000 "$both_us" 12000
    expect "there $there_us us" is_between 5000 "$there_us" 11000
    expect "but not back: $back_us us" is_between 1 "$back_us" 2500
    vc delay h1 h2 0
    vc delay h2 h1 3000 1000
    measure_path
    expect "3 to 4 ms back: there $there_us us" is_between 1 "$there_us" 2500
    expect "back $back_us us" is_between 3000 "$back_us" 9000
    vc delay h2 h1 0 0 1000000
    expect "full loss" eval '! vc exec h1 timeout 3 "$check" rtt h2 "$port" 2>/dev/null'
    vc delay h2 h1 0
    kill "$pid"
    wait "$pid" 2>/dev/null
}

# --- ways to end ----------------------------------------------------------------------------------

test_refusals() {
    use_instance refused
    expect "an impossible offset fails" eval '! vc up 2 --offsets 0,-99999999s 2>/dev/null'
    expect "and leaves nothing" leaves_nothing
    expect "down where nothing is up" vc down
    mkdir "$VCLUSTER_STATE" && touch "$VCLUSTER_STATE/mine"
    expect "a directory in use is refused" eval '! vc up 1 2>/dev/null'
    expect "and its file stays" [ -e "$VCLUSTER_STATE/mine" ]
    rm -r "$VCLUSTER_STATE"
}

# Signals `up`, alone (TARGET "") or with all its children as ^C does ("-"), DELAY seconds after its
# start; late ones may find it done.
interrupt_up() { # SIGNAL TARGET DELAY
    local pid
    setsid env --default-signal=INT "$vcluster" up 6 --switch 2>/dev/null &
    pid=$!
    sleep "$3"
    kill "-$1" -- "$2$pid" 2>/dev/null
    wait "$pid" && vc down
    expect "SIG$1 ${2:+to the process group }after $3 s of up leaves nothing" leaves_nothing
}

test_interrupted_up() {
    local delay
    use_instance interrupted
    for delay in 0.02 0.04 0.07 0.1 0.15 0.2 0.3; do
        interrupt_up INT "" "$delay"
        interrupt_up INT - "$delay"
        interrupt_up TERM "" "$delay"
    done
}

test_killed_up() {
    local pid delay
    use_instance murdered
    for delay in 0.03 0.1 0.2; do
        "$vcluster" up 6 &
        pid=$!
        sleep "$delay"
        kill -9 "$pid"
        wait "$pid"
        expect "down after SIGKILL of up, $delay s" vc down
        expect "leaves nothing" leaves_nothing
    done 2>/dev/null
}

test_two_instances() {
    use_instance left
    vc up 2 --offsets 5ms,-3us
    use_instance right
    vc up 2 --switch
    expect "a second up is refused" eval '! vc up 2 2>/dev/null'
    use_instance left
    expect "--offsets" [ "$(vc truth | xargs)" = "h1 5000000 0 h2 -3000 -5003000" ]
    vc freeze h2
    expect "down with a frozen host" vc down
    expect "the left one leaves nothing" leaves_nothing
    use_instance right
    expect "the right one lives" [ "$(vc exec h2 hostname)" = h2 ]
    expect "down" vc down
    expect "the right one leaves nothing" leaves_nothing
}

# Everything on one instance, with a command still running on it at the end.
test_instance() { # NAME UP_OPTION...
    use_instance "$1"
    shift
    expect "up 4 $*" vc up 4 "$@"
    remember_namespaces
    expect "the search for traces finds namespaces" [ -n "$(namespaces_in_use)" ]
    expect "and the rest" [ "$(traces | wc -l)" -gt 10 ]
    test_identity
    test_private_dirs
    test_clocks
    test_mpirun
    [ "$*" != --switch ] || test_delay
    test_slow
    test_cpus
    test_freeze
    test_kill
    "$vcluster" exec h1 sleep 100 &
    expect "down" vc down
    expect "down again" vc down
    wait $! 2>/dev/null
    expect "nothing is left" leaves_nothing
    rm -f "$scratch/namespaces"
}

# --- all of it ------------------------------------------------------------------------------------

reason=$(VCLUSTER_STATE=$scratch/probe vc check 2>&1)
status=$?
if [ "$status" = 0 ]; then
    reason=$(VCLUSTER_STATE=$scratch/probe vc up 1 --switch 2>&1)
    status=$?
fi
if [ "$status" != 0 ]; then
    echo "$reason"
    exit "$status"
fi
vc --state "$scratch/probe" down

test_instance first
test_instance second --switch
test_two_instances
test_refusals
test_interrupted_up
test_killed_up
echo "$failures failures"
[ "$failures" = 0 ]
