"""The names in rank and cluster files that other programs rely on. Written out here, not derived:
a rename must fail."""

RANK_ATTRIBUTES = """format format_version profwrap_version rank world_size local_rank hostname
    clock_domain job_id pid command start_unix_ns end_unix_ns exit_code exit_signal complete
    dropped_events""".split()

RANK_DATASETS = {
    "clock": "local_ns offset_ns error_ns",
    "events/comm": "start end op source flags comm seq sent_bytes recv_bytes peer tag thread "
    "request inside_ns stack",
    "events/range": "start end name domain category kind thread depth shapes alloc_bytes",
    "steps": "step start end recorded",
    "samples/process": "time",
    "comms": "uid size my_rank source name first_member",
    "comm_members": "world_rank",
}

CLUSTER_ATTRIBUTES = """format format_version profwrap_version nranks nhosts nsteps steps_inferred
    clock_error_max_ns merge_processes""".split()

CLUSTER_DATASETS = {
    "ranks": "rank hostname present complete dropped_events events clock_error_ns exit_code "
    "exit_signal",
    "steps": "step start end duration_ns slowest_rank",
    "step_trace": "interval_ns fp_bp_ns tail_ns total_ns compute_ns comm_ns comm_exposed_ns "
    "wait_ns data_wait_ns idle_ns own_ns",
    "collectives": "comm_uid seq op source bytes nranks step first_enter last_enter first_exit "
    "last_exit last_rank wait_ns transfer_ns algbw busbw complete",
    "collective_stats": "op count bytes",
    "stragglers": "rank hostname kind first_step last_step steps_hit excess_ns blame_ns "
    "critical_ns gain_ns slowdown phase cause evidence confidence",
    "completeness": "rank what",
}

REPORT_KEYS = "job completeness clock steps step_trace collectives stragglers".split()

STRAGGLER_KEYS = CLUSTER_DATASETS["stragglers"].split()
