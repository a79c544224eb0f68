/* The causes of stragglers: why a rank was slow. Add a cause here; docs/HOWTO_add_rows.md has the
 * other steps. A row is E(identifier, value in files, name in files, title, doing). Reports print
 * the title as the cause. `doing` says what the rank did in the lost time. If `doing` is "", all
 * that is known is that the rank did not communicate. pw_cause_title() and pw_cause_doing() of
 * tables.h return the last two columns. Used by tables.def. Nothing but a macro. */
#ifndef PW_CORE_CAUSES_H
#define PW_CORE_CAUSES_H

#define PW_CAUSE_ENUM(E)                                                                 \
    E(CAUSE_UNKNOWN, 0, "unknown", "", "")                                               \
    E(CAUSE_CPU_CONTENTION, 1, "cpu_contention", "CPU contention",                       \
      "ready to run but without a CPU")                                                  \
    E(CAUSE_PAGE_FAULTS, 2, "page_faults", "page faults", "")                            \
    E(CAUSE_FILE_IO, 3, "file_io", "file I/O", "waiting for files or a disk")            \
    E(CAUSE_DATA_STARVATION, 4, "data_starvation", "data starvation", "")                \
    E(CAUSE_BLOCKED_OFF_CPU, 5, "blocked_off_cpu", "blocked off the CPU",                \
      "asleep outside communication")                                                    \
    E(CAUSE_MORE_CPU_WORK, 6, "more_cpu_work", "more CPU work",                          \
      "on the CPU outside communication")                                                \
    E(CAUSE_CGROUP_THROTTLING, 7, "cgroup_throttling", "cgroup CPU throttling",          \
      "without a CPU because the cgroup's quota was used up")                            \
    E(CAUSE_OPERATOR_GREW, 8, "operator_grew", "an operator takes longer", "")           \
    E(CAUSE_GPU_CLOCKS_THROTTLED, 9, "gpu_clocks_throttled", "GPU clocks throttled", "") \
    E(CAUSE_HOST_BOUND, 10, "host_bound", "host bound", "")                              \
    E(CAUSE_SLOWER_KERNELS, 11, "slower_kernels", "slower kernels", "")                  \
    E(CAUSE_MORE_GPU_WORK, 12, "more_gpu_work", "more GPU work", "")                     \
    E(CAUSE_STOPPED, 13, "stopped", "stopped by a signal or a debugger", "stopped")      \
    E(CAUSE_LATE_START, 14, "late_start", "late start", "before it entered MPI")         \
    E(CAUSE_HOST_FROZEN, 15, "host_frozen", "host or container frozen",                  \
      "with the host or container frozen")                                               \
    E(CAUSE_CHILD_PROCESS, 16, "child_process", "child processes",                       \
      "waiting for processes that it had started")                                       \
    E(CAUSE_GARBAGE_COLLECTION, 17, "garbage_collection", "garbage collection",          \
      "collecting garbage")                                                              \
    E(CAUSE_COMPILATION, 18, "compilation", "compilation", "compiling")                  \
    E(CAUSE_CHECKPOINT, 19, "checkpoint", "checkpoint", "writing a checkpoint")

#endif
