# Bringing a virtual cluster up: what the machine must have, the options, the state directory, the
# hosts and the network between them. Sourced by vcluster. Any failure and any signal on the way
# takes down again what was made.

subnet=10.213.0 # exists only inside the instance's own namespaces, so that instances cannot clash
login_address=$subnet.254
host_max=32
declare -a offsets=() shared=() host_pids=()

# --- the machine ----------------------------------------------------------------------------------

cmd_check() {
    local name
    [ "$(id -u)" = 0 ] || skip "needs root"
    for name in ip awk realpath; do
        command -v "$name" >/dev/null || skip "needs the program $name"
    done
    for name in net uts ipc mnt pid time; do
        [ -e "/proc/self/ns/$name" ] || skip "this kernel has no $name namespaces"
    done
    [ -w /proc/self/timens_offsets ] || skip "clock offsets cannot be set here"
    cgroup_find || skip "no cgroup v1 or v2 with the controllers cpu and cpuset and a freezer"
    [ -w "${cgroup_root[freezer]}" ] || skip "the control groups are read-only here"
}

# --- options --------------------------------------------------------------------------------------

# "5ms" -> 5000000; a bare number is ns.
parse_duration() {
    local factor=1
    [[ $1 =~ ^(-?)([0-9]{1,18})(ns|us|ms|s)?$ ]] || fail "not a duration (such as 5ms or -2s): $1"
    case ${BASH_REMATCH[3]} in
    us) factor=1000 ;;
    ms) factor=1000000 ;;
    s) factor=1000000000 ;;
    esac
    echo $((${BASH_REMATCH[1]}10#${BASH_REMATCH[2]} * factor))
}

# Seconds apart, all different, and no round numbers that could hide a mix-up of units.
set_default_offsets() {
    local i
    for i in $(seq "$nhost"); do
        offsets+=($((i * 1234567891)))
    done
}

read_offsets() { # LIST
    local text value
    [ -n "$1" ] || { set_default_offsets && return; }
    for text in ${1//,/ }; do
        value=$(parse_duration "$text")
        offsets+=("$value")
    done
    [ "${#offsets[@]}" = "$nhost" ] || fail "${#offsets[@]} offsets for $nhost hosts"
}

share_option() {
    local dir
    dir=$(realpath -e -- "$1") || fail "there is no directory $1"
    shared+=("$dir")
}

read_up_options() {
    local offset_list=
    is_within 1 "${1:-}" "$host_max" || fail "up takes 1 to $host_max hosts"
    nhost=$1 slots=2 life_s=3600 network=bridge
    shift
    while [ $# -gt 0 ]; do
        [ "$1" = --switch ] || [ $# -gt 1 ] || fail "$1: unknown, or without its value"
        case $1 in
        --switch) network=switch && shift && continue ;;
        --offsets) offset_list=$2 ;;
        --slots) slots=$2 ;;
        --share) share_option "$2" ;;
        --life) life_s=$2 ;;
        *) fail "unknown option $1" ;;
        esac
        shift 2
    done
    is_within 1 "$slots" 1024 || fail "--slots takes 1 to 1024"
    is_within 1 "$life_s" 1000000 || fail "--life takes 1 to 1000000 seconds"
    read_offsets "$offset_list"
}

# --- the state directory --------------------------------------------------------------------------

# Atomic: of two that want the same directory, one gets it.
claim_state() {
    [ -d "$state" ] || mkdir -- "$state" || fail "cannot make $state"
    [ -O "$state" ] || fail "$state belongs to somebody else"
    (set -C && echo $$ >"$state/owner") 2>/dev/null ||
        fail "something is up in $state already; vcluster down, or name another --state"
    [ "$(ls -A -- "$state")" = owner ] || fail "$state is not empty"
}

# After a failure or a signal; not if the directory is another instance's.
undo_up() {
    local status=$1
    trap '' INT TERM HUP
    trap - EXIT
    if [ ! -e "$state/owner" ] || [ "$(cat "$state/owner")" = $$ ]; then
        cmd_down || status=1
    fi
    exit "$status"
}

write_tables() {
    local i
    printf '%s\n' "127.0.0.1 localhost" "$login_address login" >"$state/hosts"
    for i in $(seq "$nhost"); do
        echo "$subnet.$i h$i" >>"$state/hosts"
        echo "h$i slots=$slots" >>"$state/hostfile"
        echo "h$i ${offsets[i - 1]} $((offsets[i - 1] - offsets[0]))" >>"$state/truth"
    done
    echo "serial 0" >"$state/lanes"
}

# --- hosts ----------------------------------------------------------------------------------------

# What must look the same on every host although a parent directory may be private to it.
add_shared_defaults() {
    local dir tree
    tree=$(realpath -- "$here/../..")
    for dir in "$tree" "$(dirname -- "$host_helper")" "$(dirname -- "$self")" "$PWD"; do
        case $dir in
        / | /tmp | /run | /dev/shm) ;; # not even if somebody stands there: these are private
        *) shared+=("$dir") ;;
        esac
    done
    shared+=("$state")
}

# Runs a command that is a process of host $1 from its first instruction, so that down finds it.
run_in_group() {
    local host=$1
    shift
    (cgroup_join "$host" "$BASHPID" && exec "$@")
}

boot_host() { # NAME OFFSET_NS LOGIN
    local dir pid options=()
    for dir in "${shared[@]}"; do
        options+=(--share "$dir")
    done
    cgroup_create "$1" || skip "control groups cannot be made here"
    pid=$(run_in_group "$1" "$host_helper" boot --name "$1" --offset-ns "$2" --login "$3" \
        --hosts "$state/hosts" --life-s "$life_s" "${options[@]}")
    host_pids+=("$pid")
    echo "$pid" >"$state/$1.pid"
}

# Leaves login in host_pids[0] and hI in host_pids[I].
boot_hosts() {
    local i
    boot_host login 0 yes
    for i in $(seq "$nhost"); do
        boot_host "h$i" "${offsets[i - 1]}" no
    done
}

# --- network --------------------------------------------------------------------------------------

ip_batch() { # PID FILE
    "$host_helper" enter "$1" ip -batch "$2" || skip "this kernel lacks bridge, veth or tap devices"
}

# The bridge is login's own eth0: so no further namespace must be kept alive for it.
wire_bridge() {
    local i
    echo "link add eth0 type bridge" >"$state/wires"
    for i in $(seq "$nhost"); do
        echo "link add port$i type veth peer name eth0 netns ${host_pids[i]}" >>"$state/wires"
        echo "link set port$i master eth0 up" >>"$state/wires"
    done
    ip_batch "${host_pids[0]}" "$state/wires"
}

start_switch() {
    local helper pid
    helper=$(helper vcluster_switch)
    cgroup_create switch || skip "control groups cannot be made here"
    pid=$(run_in_group switch "$helper" "$state/lanes" "$life_s" "${host_pids[@]}")
    echo "$pid" >"$state/switch.pid"
}

set_address() { # PID ADDRESS
    printf '%s\n' "link set lo up" "address add $2/24 dev eth0" "link set eth0 up" >"$state/wires"
    ip_batch "$1" "$state/wires"
}

connect_hosts() {
    local i
    case $network in
    bridge) wire_bridge ;;
    switch) start_switch ;;
    esac
    set_address "${host_pids[0]}" "$login_address"
    for i in $(seq "$nhost"); do
        set_address "${host_pids[i]}" "$subnet.$i"
    done
}

# --- the command ----------------------------------------------------------------------------------

cmd_up() {
    read_up_options "$@"
    cmd_check
    host_helper=$(helper vcluster_host)
    trap 'undo_up $?' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    claim_state
    add_shared_defaults
    write_tables
    cgroup_enable >"$state/controllers" || skip "cpu and cpuset cannot be used here"
    boot_hosts
    connect_hosts
    trap '' INT TERM HUP # from here on it is up, and the exit status must say so
    : >"$state/up"
    trap - EXIT
}
