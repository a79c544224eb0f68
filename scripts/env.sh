# Sourced by the other scripts: what Open MPI must be told before it runs our tests on any machine.
# shellcheck shell=bash

pw_env=(OMPI_MCA_rmaps_base_oversubscribe=1) # the tests use up to 8 ranks, whatever the cores
if [ "$(id -u)" -eq 0 ]; then
    # mpirun refuses root unless told twice; containers and CI machines have no other user.
    pw_env+=(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
fi
export "${pw_env[@]?}"

# Once is enough when one script calls another.
if [ -z "${PW_ENV_TOLD-}" ]; then
    echo "${0##*/}: exported for mpirun: ${pw_env[*]}" >&2
    export PW_ENV_TOLD=1
fi
unset pw_env
