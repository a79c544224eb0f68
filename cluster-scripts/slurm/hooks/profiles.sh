# The profiles of a job, for the hooks that run with the user's rights. Sourced.
# shellcheck shell=sh

# Calls $2 with each directory that holds a profile of the job whose state directory is $1.
for_each_profile() {
    [ -f "$1/outputs" ] || return 0
    sort -u "$1/outputs" | while IFS= read -r start; do
        for profile in "$start".* "$start"-*; do
            [ -d "$profile" ] && [ ! -L "$profile" ] && [ -O "$profile" ] && "$2" "$profile"
        done
    done
}

# Of all nodes and tasks that come here one gets the name, and keeps it.
is_first() { # PROFILE NAME
    ln -s "$(uname -n)" "$1/.$2" 2>/dev/null
}
