/* The table of faults; see kinds.h. */
#include "sim/kinds.h"

/* Rows by enum pw_sim_fault_kind. */
static const struct pw_sim_kind kinds[PW_SIM_FAULT_KINDS] = {
    {"slow_rank", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0,
     "more_cpu_work"},
    {"slow_host", PW_SIM_ON_HOST, PW_SIM_ADDS, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0,
     "more_cpu_work"},
    {"slow_link", PW_SIM_ON_LINK, PW_SIM_ELSE, PW_SIM_RUNNING, PW_PHASE_FORWARD, 400, 0, 0, ""},
    {"starved_loader", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_SLEEPING, PW_PHASE_DATA, 20, 0, 0,
     "data_starvation"},
    {"slow_transfer", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_SLEEPING, PW_PHASE_DATA, 20, 0, 0,
     "data_starvation"},
    {"jitter", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0,
     "more_cpu_work"},
    {"slow_operator", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_RUNNING, PW_PHASE_FORWARD, 0, 0, 0,
     "operator_grew"},
    {"slow_gpu", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0,
     "gpu_clocks_throttled"},
    {"host_bound", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0,
     "host_bound"},
    {"skew", PW_SIM_ON_HOST, PW_SIM_ELSE, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0, ""},
    {"missing", PW_SIM_ON_FILE, PW_SIM_ELSE, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0, ""},
    {"truncated", PW_SIM_ON_FILE, PW_SIM_ELSE, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0, ""},
    {"quota", PW_SIM_ON_RANK, PW_SIM_STOPS, PW_SIM_QUOTA, PW_PHASE_NONE, 0, 0, 1,
     "cgroup_throttling"},
    {"burners", PW_SIM_ON_RANK, PW_SIM_STOPS, PW_SIM_READY, PW_PHASE_NONE, 0, 0, 1,
     "cpu_contention"},
    {"sigstop", PW_SIM_ON_RANK, PW_SIM_STOPS_ONCE, PW_SIM_STOPPED, PW_PHASE_NONE, 0, 3000, 1,
     "stopped"},
    {"sigstops", PW_SIM_ON_RANK, PW_SIM_STOPS, PW_SIM_STOPPED, PW_PHASE_NONE, 0, 50, 1, "stopped"},
    {"freeze", PW_SIM_ON_HOST, PW_SIM_STOPS_ONCE, PW_SIM_STOLEN, PW_PHASE_NONE, 0, 3000, 1,
     "host_stolen"},
    {"disk", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_DISK, PW_PHASE_FORWARD, 20, 0, 1, "file_io"},
    {"page_faults", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_DISK, PW_PHASE_FORWARD, 20, 0, 1,
     "page_faults"},
    {"blocked", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_SLEEPING, PW_PHASE_FORWARD, 20, 0, 1,
     "blocked_off_cpu"},
    {"stall", PW_SIM_ON_RANK, PW_SIM_ADDS_NS, PW_SIM_SLEEPING, PW_PHASE_FORWARD, 0, 2000, 1,
     "blocked_off_cpu"},
    {"late_start", PW_SIM_ON_RANK, PW_SIM_AT_ENDS, PW_SIM_SLEEPING, PW_PHASE_NONE, 0, 1000, 1,
     "late_start"},
    {"late_setup", PW_SIM_ON_RANK, PW_SIM_AT_ENDS, PW_SIM_DISK, PW_PHASE_NONE, 0, 1000, 1,
     "file_io"},
    {"late_end", PW_SIM_ON_RANK, PW_SIM_AT_ENDS, PW_SIM_DISK, PW_PHASE_NONE, 0, 1000, 1, "file_io"},
    {"checkpoint", PW_SIM_ON_ALL, PW_SIM_PAUSES, PW_SIM_DISK, PW_PHASE_NONE, 0, 100, 1, "file_io"},
    {"drift", PW_SIM_ON_ALL, PW_SIM_ADDS, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0, ""},
    {"slow_all", PW_SIM_ON_ALL, PW_SIM_ADDS, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0, ""},
    {"congestion", PW_SIM_ON_NETWORK, PW_SIM_ELSE, PW_SIM_RUNNING, PW_PHASE_NONE, 300, 0, 0, ""},
};

const struct pw_sim_kind *pw_sim_kind_of(enum pw_sim_fault_kind kind)
{
    return &kinds[kind];
}

const char *pw_sim_scope_name(enum pw_sim_scope scope)
{
    static const char *const names[] = {"rank", "host", "link", "all", "file", "network"};
    return names[scope];
}

enum pw_sim_scope pw_sim_scope_of(const struct pw_sim_fault *f)
{
    enum pw_sim_scope scope = kinds[f->kind].scope;
    return scope == PW_SIM_ON_ALL && f->rank >= 0 ? PW_SIM_ON_RANK : scope;
}

const char *pw_sim_part_of(const struct pw_sim_fault *f)
{
    if (kinds[f->kind].how == PW_SIM_PAUSES)
        return "checkpoint";
    if (kinds[f->kind].how != PW_SIM_AT_ENDS)
        return "steps";
    return f->kind == PW_SIM_LATE_END ? "tail" : "start_up";
}
