# SPDX-License-Identifier: Apache-2.0
# What the hooks that run as root share. Sourced by them, from the directory that they are in.
# shellcheck shell=sh disable=SC2034 # the hooks use what is set here
#
# Rules for what runs as root: no file that a user could have made is opened, listed, tested or
# removed by name; no value that a user could have set becomes a name; the environment gives two
# numbers and two names that Slurm sets, and they are checked. The rest is done by as_user.

PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
unset IFS CDPATH ENV BASH_ENV
umask 022

# The site's settings, and what they are by default: see hooks.conf.example.
output_root=
output_least_mib=0
shared_memory_least_mib=64
epilog_seconds=60
comment=yes
state=/run/profwrap
prefix=$(readlink -f -- "$hooks/../../..")
configuration=$prefix/etc/profwrap/hooks.conf
[ "$prefix" != /usr ] || configuration=/etc/profwrap/hooks.conf
profwrap=$prefix/bin/profwrap

say() {
    logger -t profwrap -- "$*" 2>/dev/null || true
}

is_number() {
    case $1 in
    '' | 0* | *[!0-9]*) return 1 ;;
    esac
    [ "${#1}" -le 10 ]
}

# Whether only root can change what is at $1: it and every directory above are root's, and nobody
# else may write into them. Above, that may also be a directory like /tmp, where nobody can put
# something else in the place of what is root's.
is_roots() {
    path=$1 above=no
    while :; do
        case $above:$(stat -c '%u %a %F' -- "$path" 2>/dev/null) in
        "yes:0 1777 directory") ;;
        *:"0 "*[2367]" "* | *:"0 "*[2367]?" "*) return 1 ;; # the group or others may write
        *:"0 "*" directory" | "no:0 "*" regular file" | "no:0 "*" regular empty file") ;;
        *) return 1 ;; # another's, or a link
        esac
        [ "$path" != / ] || return 0
        path=$(dirname -- "$path") above=yes
    done
}

# Takes what a setting can be; fails for all else.
set_one() { # NAME VALUE
    case $1:$2 in
    output_root: | output_root:/*) output_root=$2 ;;
    output_least_mib:0) output_least_mib=0 ;;
    output_least_mib:*) is_number "$2" && output_least_mib=$2 ;;
    shared_memory_least_mib:0) shared_memory_least_mib=0 ;;
    shared_memory_least_mib:*) is_number "$2" && shared_memory_least_mib=$2 ;;
    epilog_seconds:*) is_number "$2" && epilog_seconds=$2 ;;
    comment:yes | comment:none) comment=$2 ;;
    state:/*) state=$2 ;;
    *) return 1 ;;
    esac
}

# NAME=VALUE, the value in quotes or without, a remark behind it or none.
read_line() { # LINE
    value=${1#*=}
    value=${value%%[[:space:]]#*}
    value=${value%"${value##*[![:space:]]}"}
    case $value in
    \"*\" | \'*\') value=${value#?} value=${value%?} ;;
    esac
    set_one "${1%%=*}" "$value"
}

# Nothing in the file is executed: what is wrong there would end the shell, and with it the hook, and
# Slurm would drain the node. It may also go, or change, while it is read.
read_configuration() {
    [ -e "$configuration" ] || return 0
    if ! is_roots "$configuration"; then
        say "$configuration can be changed by others than root: not read"
        return 0
    fi
    while read -r line || [ -n "$line" ]; do
        case $line in
        '' | '#'*) ;;
        *) read_line "$line" || say "$configuration: not understood: $line" ;;
        esac
    done <"$configuration"
}

# Sets job, uid, gid and user from what Slurm says of the job.
read_job() {
    job=${SLURM_JOB_ID:-} uid=${SLURM_JOB_UID:-}
    is_number "$job" && is_number "$uid" || return 1
    entry=$(getent passwd "$uid") || return 1
    user=${entry%%:*}
    gid=$(printf %s "$entry" | cut -d: -f4)
    case $user in
    '' | .* | -* | *[!A-Za-z0-9._-]*) return 1 ;;
    esac
    is_number "$gid"
}

# Runs a command as the job's user, with nothing of root's: no groups, capabilities, environment,
# working directory or open files but what it reads and prints. It is root who ends it after that
# many seconds: what is the user's, the user can stop or hold.
as_user() { # SECONDS COMMAND...
    (
        seconds=$1
        shift
        cd / || exit 1
        exec timeout -k 5 "$seconds" setpriv --reuid="$uid" --regid="$gid" --init-groups \
            --inh-caps=-all --no-new-privs env -i PATH="/usr/bin:/bin" LANG=C.UTF-8 "$@"
    )
}

# A directory of root's in which the hooks keep what they know of the jobs on this node: JOB, where
# the plugin notes as root how the names of the job's profiles begin, and JOB.off.
make_state() {
    is_roots "$(dirname -- "$state")" || return 1
    mkdir -m 0755 -- "$state" 2>/dev/null || true
    is_roots "$state"
}
