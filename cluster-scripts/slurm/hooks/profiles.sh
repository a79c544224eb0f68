# SPDX-License-Identifier: Apache-2.0
# The job and its profiles, for the hooks that run with the user's rights. Sourced; `job` is its
# number.
# shellcheck shell=sh

# Calls $1 with each directory that holds a profile of the job. What their names begin with is to be
# read: root's note, of what the plugin was told by the user.
for_each_profile() {
    while IFS= read -r start; do
        for profile in "$start".* "$start"-*; do
            [ -d "$profile" ] && [ ! -L "$profile" ] && [ -O "$profile" ] &&
                "$1" "$profile" </dev/null
        done
    done
}

# Of all nodes and tasks that come here one gets the name, and keeps it.
is_first() { # PROFILE NAME
    ln -s "$(uname -n)" "$1/.$2" 2>/dev/null
}

# What means this job where a comment is set, and no other of its array: the number of an array's last
# job is the array's, too. Only numbers are asked for, since root relies on it.
job_name() {
    squeue -h -t all -j "$job" -o '%A %F %K' </dev/null |
        awk -v job="$job" '$1 == job { print $3 ~ /^[0-9]+$/ ? $2 "_" $3 : job; exit }'
}
