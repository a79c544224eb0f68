# The control groups of a virtual cluster: one per host for CPU quota, CPU set, freezing and for
# finding every process of the host again. Sourced by vcluster, which calls cgroup_find first.
# Works on cgroup v1 (three hierarchies) and v2 (one). A group is named after the instance and the
# host, so that an instance can remove exactly its own, with no record but that name.

declare -A cgroup_root=() # controller -> the mount point of its hierarchy
cgroup_version=
cgroup_prefix=            # set by vcluster: unique to the instance
cgroup_period_us=100000   # the kernel's default period for CPU quotas

# The mount point of a v1 hierarchy that has the controller $1; nothing where there is none.
cgroup_v1_mount() {
    awk -v want=",$1," '$3 == "cgroup" && index("," $4 ",", want) { print $2; exit }' /proc/mounts
}

cgroup_find_v1() {
    local controller
    for controller in cpu cpuset freezer; do
        cgroup_root[$controller]=$(cgroup_v1_mount "$controller")
        [ -n "${cgroup_root[$controller]}" ] || return 1
    done
    cgroup_version=1
}

cgroup_find_v2() {
    local root
    root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    [ -n "$root" ] || return 1
    grep -qw cpu "$root/cgroup.controllers" || return 1
    grep -qw cpuset "$root/cgroup.controllers" || return 1
    cgroup_root=([cpu]=$root [cpuset]=$root [freezer]=$root)
    cgroup_version=2
}

# Fails, with nothing printed, where there is neither.
cgroup_find() {
    cgroup_find_v1 || cgroup_find_v2
}

# The directories of the group of host $1, one a line: three on v1, one on v2. The switch is no
# host: on v1 it stays out of the CPU groups, where some kernels refuse real-time priority.
cgroup_dirs() {
    local roots=("${cgroup_root[@]}")
    [ "$1" != switch ] || roots=("${cgroup_root[freezer]}")
    printf '%s\n' "${roots[@]}" | sort -u | sed "s|\$|/$cgroup_prefix-$1|"
}

cgroup_dir() { # HOST CONTROLLER
    printf '%s/%s-%s' "${cgroup_root[$2]}" "$cgroup_prefix" "$1"
}

# The hosts that have a group, one a line, be it half made.
cgroup_hosts() {
    local root dir
    for root in "${cgroup_root[@]}"; do
        for dir in "$root/$cgroup_prefix"-*; do
            [ ! -d "$dir" ] || printf '%s\n' "${dir##*/"$cgroup_prefix"-}"
        done
    done | sort -u
}

# On v2 the root must hand the controllers down. Prints those that it did not before.
cgroup_enable() {
    [ "$cgroup_version" = 2 ] || return 0
    local controller enabled=${cgroup_root[cpu]}/cgroup.subtree_control
    for controller in cpu cpuset; do
        grep -qw "$controller" "$enabled" && continue
        echo "+$controller" 2>/dev/null >"$enabled" || return 1
        echo "$controller"
    done
}

# Takes back what cgroup_enable printed. The kernel refuses while another instance needs it.
cgroup_disable() {
    local controller
    for controller in "$@"; do
        { echo "-$controller" >"${cgroup_root[cpu]}/cgroup.subtree_control"; } 2>/dev/null || true
    done
}

# A v1 cpuset starts empty and takes no process until it has CPUs and memory.
cgroup_fill_cpuset() {
    local root=${cgroup_root[cpuset]} dir file
    dir=$(cgroup_dir "$1" cpuset)
    [ "$cgroup_version" = 1 ] && [ -d "$dir" ] || return 0
    for file in cpuset.cpus cpuset.mems; do
        cat "$root/$file" >"$dir/$file" || return 1
    done
}

cgroup_create() { # HOST
    local dir
    for dir in $(cgroup_dirs "$1"); do
        mkdir "$dir" || return 1
    done
    cgroup_fill_cpuset "$1"
}

cgroup_join() { # HOST PID
    local dir
    for dir in $(cgroup_dirs "$1"); do
        echo "$2" >"$dir/cgroup.procs" || return 1
    done
}

# The processes of the host; those that this pid namespace cannot see (0) are left out.
cgroup_pids() {
    local dir
    for dir in $(cgroup_dirs "$1"); do
        cat "$dir/cgroup.procs" 2>/dev/null || true
    done | grep -vx 0 | sort -un || true
}

cgroup_is_frozen() {
    local dir
    dir=$(cgroup_dir "$1" freezer)
    case $cgroup_version in
    1) [ "$(cat "$dir/freezer.state")" = FROZEN ] ;;
    2) grep -qx 'frozen 1' "$dir/cgroup.events" ;;
    esac
}

# Answers when every process of the host stands still.
cgroup_freeze() {
    local dir
    dir=$(cgroup_dir "$1" freezer)
    for _ in $(seq 200); do
        case $cgroup_version in
        1) echo FROZEN >"$dir/freezer.state" || return 1 ;;
        2) echo 1 >"$dir/cgroup.freeze" || return 1 ;;
        esac
        cgroup_is_frozen "$1" && return 0
        sleep 0.01
    done
    return 1
}

cgroup_thaw() {
    local dir
    dir=$(cgroup_dir "$1" freezer)
    [ -d "$dir" ] || return 0
    case $cgroup_version in
    1) echo THAWED >"$dir/freezer.state" ;;
    2) echo 0 >"$dir/cgroup.freeze" ;;
    esac
}

# PERCENT of one CPU for the whole host, or off.
cgroup_limit() { # HOST PERCENT
    local dir quota_us=-1
    dir=$(cgroup_dir "$1" cpu)
    [ "$2" = off ] || quota_us=$(($2 * cgroup_period_us / 100))
    if [ "$cgroup_version" = 1 ]; then
        echo "$cgroup_period_us" >"$dir/cpu.cfs_period_us" || return 1
        echo "$quota_us" >"$dir/cpu.cfs_quota_us"
    else
        echo "${quota_us/#-1/max} $cgroup_period_us" >"$dir/cpu.max"
    fi
}

cgroup_set_cpus() { # HOST LIST
    local dir
    dir=$(cgroup_dir "$1" cpuset)
    echo "$2" >"$dir/cpuset.cpus"
}

# Waits, at most five seconds, until the host has no process. With -9 as $2 it kills them all first
# and again, for one may fork while the others die.
cgroup_wait_empty() { # HOST [-9]
    local pids
    for _ in $(seq 500); do
        pids=$(cgroup_pids "$1")
        [ -n "$pids" ] || return 0
        # shellcheck disable=SC2086 # a list of numbers
        [ -z "${2:-}" ] || kill -9 $pids 2>/dev/null || true
        sleep 0.01
    done
    return 1
}

# A directory stays busy for a moment after its last process.
cgroup_remove_dir() {
    for _ in $(seq 200); do
        [ -d "$1" ] || return 0
        rmdir "$1" 2>/dev/null && return 0
        sleep 0.01
    done
    return 1
}

# Kills what is in the group of host $1 and removes it. A frozen v1 process dies only once thawed.
cgroup_destroy() {
    local dir status=0
    cgroup_thaw "$1" || true
    cgroup_wait_empty "$1" -9 || status=1
    for dir in $(cgroup_dirs "$1"); do
        cgroup_remove_dir "$dir" || status=1
    done
    return "$status"
}
