"""The names in rank files, cluster files and JSON reports that other programs rely on. Written out here,
not derived: a rename must fail. sim.files_keep_the_contract_of_real_ones compares them with what is
written, so that none is missing here."""

RANK_ATTRIBUTES = """format format_version profwrap_version rank world_size local_rank hostname
    clock_domain job_id pid command start_unix_ns end_unix_ns exit_code exit_signal complete
    dropped_events""".split()

RANK_DATASETS = {
    "clock": "local_ns offset_ns error_ns",
    "events/comm":
        "start end op source flags comm seq sent_bytes recv_bytes peer tag thread request inside_ns "
        "stack wait_start",
    "events/range":
        "start end name domain category kind thread depth shapes alloc_bytes stack sequence "
        "payload_type payload flags",
    "events/gap": "start end reason kind thread lost",
    "steps": "step start end recorded",
    "windows": "window first_step last_step warmup_first_step warmup_last_step start end cause",
    "samples/process":
        "time cpu_user_ns cpu_sys_ns rss_bytes minor_faults major_faults voluntary_cs involuntary_cs "
        "runq_wait_ns read_bytes write_bytes threads main_cpu_ns state processor child_faults "
        "main_read_bytes main_write_bytes main_major_faults",
    "comms": "uid size my_rank source name first_member collectives remote_size first_collective",
    "comm_members": "world_rank",
    "overhead": "name value unit",
}

# Only there when something was to be said in them.
RANK_DATASETS_AT_TIMES = {
    "events/payload": "time id thread schema field type value",
    "events/runtime": "start end kind thread count total_ns generation collected",
    "thread_names": "time tid thread name",
    "events/kernel":
        "start end device context stream correlation graph_node launch thread launched_by name grid_x "
        "grid_y grid_z block_x block_y block_z registers static_shared_bytes dynamic_shared_bytes graph "
        "cluster_x cluster_y cluster_z",
    "events/memcpy":
        "start end device context stream correlation graph_node launch thread launched_by kind bytes "
        "src_device dst_device asynchronous",
    "events/memset":
        "start end device context stream correlation graph_node launch thread launched_by bytes value",
    "events/cuda_api": "start end name thread correlation result",
    "events/cuda_sync": "start end kind device stream event correlation",
    "events/nccl":
        "comm_row enqueue correlation device stream count datatype algorithm protocol channels timed "
        "operation ran_ns",
    "events/nccl_net":
        "start end operation peer channel sends steps bytes gpu_wait_ns peer_wait_ns network_wait_ns "
        "flush_wait_ns",
    "events/gpu_error": "time device xid instance",
    "ending": "time oom_kills",
    "events/open": "start seen_until op awaited comm seq peer tag thread source count datatype error error_time",
    "samples/workers":
        "time processes cpu_user_ns cpu_sys_ns rss_bytes read_bytes write_bytes io_wait_ns",
    "samples/host": "time busy_ns idle_ns steal_ns throttled_ns",
    "samples/cpus": "time busy_ns cpu_set allowed lowest highest",
    "samples/netcard": "time card recv_bytes sent_bytes recv_packets sent_packets errors drops",
    "samples/queue": "time queue thread size capacity",
    "samples/memory": "time device thread delta_bytes total_bytes pool_bytes",
    "samples/work": "time thread amount",
    "samples/flops": "time thread flops",
    "samples/gpu":
        "time device sm_clock_mhz memory_clock_mhz clock_reasons power_mw temperature_c busy_percent "
        "memory_busy_percent memory_used_bytes ecc_corrected ecc_uncorrected pcie_tx_bytes "
        "pcie_rx_bytes pcie_replays nvlink_tx_bytes nvlink_rx_bytes power_instant_mw power_capped_ns "
        "heat_slowed_ns brake_slowed_ns rows_remapped remap_pending remap_failed nvlink_errors gpm_ns "
        "engine_active sm_active sm_occupancy tensor_active dram_active fp64_active fp32_active "
        "fp16_active pcie_tx_bytes_per_s pcie_rx_bytes_per_s nvlink_tx_bytes_per_s nvlink_rx_bytes_per_s",
    "devices":
        "device name uuid bus_id memory_bytes multiprocessors capability warps blocks shared_bytes "
        "registers gpm",
    "metadata": "time key value",
    "hccl/times":
        "step comm op seq name start elapsed_ns transfer_ns wait_ns sync_ns",
    "hccl/links": "step comm name src dst transport bytes transfer_ns",
    "mindinsight/sums": "name type calls time_us",
    "msprof/steps":
        "step computing_ns comm_ns exposed_ns overlapped_ns free_ns stage_ns bubble_ns exposed_no_receive_ns"
        " preparing_ns",
    "samples/pipeline_cpu": "time name workers user_share sys_share",
    "unrecorded": "time reason certain count pid program library",
}

CLUSTER_ATTRIBUTES = """format format_version profwrap_version nranks nhosts nsteps steps_inferred
    clock_error_max_ns merge_processes""".split()

CLUSTER_DATASETS = {
    "ranks":
        "rank hostname present complete dropped_events events clock_error_ns exit_code exit_signal "
        "overhead_ns run_ns",
    "steps": "step start end duration_ns slowest_rank recorded",
    "step_trace":
        "interval_ns fp_bp_ns tail_ns total_ns compute_ns comm_ns comm_exposed_ns wait_ns "
        "data_wait_ns idle_ns own_ns",
    "phase_trace": "data_ns forward_ns backward_ns allreduce_ns optimizer_ns other_ns",
    "rank_means":
        "rank steps interval_ns fp_bp_ns tail_ns total_ns compute_ns comm_ns comm_exposed_ns wait_ns "
        "data_wait_ns idle_ns own_ns data_ns forward_ns backward_ns allreduce_ns optimizer_ns other_ns",
    "bin_trace":
        "outside_ns wait_ns inside_ns cpu_ns ready_ns throttled_ns stopped_ns disk_ns asleep_ns "
        "io_bytes frozen_ns process_ns cpus_busy_ns cpu_set cpus cpu_lowest cpu_highest processor "
        "data_ns forward_ns backward_ns allreduce_ns optimizer_ns",
    "part_trace":
        "total_ns outside_ns wait_ns inside_ns cpu_ns ready_ns throttled_ns stopped_ns disk_ns "
        "asleep_ns io_bytes frozen_ns",
    "collectives":
        "comm_uid seq op source bytes nranks step first_enter last_enter first_exit last_exit "
        "last_rank wait_ns transfer_ns algbw busbw complete critical_ns error_ns",
    "collective_stats":
        "comm_uid op source bytes_max nranks count bytes wait_mean_ns wait_p50_ns wait_p95_ns "
        "wait_max_ns transfer_mean_ns transfer_p50_ns transfer_p95_ns transfer_max_ns algbw_p50 "
        "busbw_mean busbw_p50 busbw_p95 busbw_max busbw_with_wait_p50",
    "communicators":
        "comm_uid name ranks nranks source collectives bytes wait_ns wait_share transfer_ns late_rank "
        "late_wait_ns",
    "p2p": "src dst messages bytes late_sender_ns late_receiver_ns transfer_ns",
    "stragglers":
        "rank hostname kind first_step last_step steps_hit excess_ns blame_ns critical_ns gain_ns "
        "slowdown phase cause evidence confidence start end lost_ns part cpus others_cpus "
        "others_share bound_ns without_clocks period",
    "efficiency":
        "parallel_efficiency load_balance communication_efficiency serialisation_efficiency "
        "transfer_efficiency elapsed_ns ideal_network_ns",
    "whatif":
        "scope rank hostname phase first_step last_step elapsed_ns without_ns gain_ns slowdown "
        "residual",
    "critical_path": "rank hostname what path_ns share",
    "hosts":
        "hostname nranks slow_ranks first_step last_step excess_ns gain_ns confidence lost_ns cause",
    "links": "src dst messages bytes transfer_ns others_ns ratio confidence",
    "roles": "rank role how",
    "imbalances":
        "kind name how verdict nranks first_rank ranks work_ns others_ns ratio amount_ratio gain_ns "
        "reason",
    "trends": "kind first_step last_step steps excess_ns cost_ns share phase confidence every cause",
    "network":
        "scope src dst hostname peer_hostname first_step last_step steps transfers mean_ns usual_ns "
        "gain_ns share confidence",
    "completeness": "rank what count detail",
    "windows": "window first_step last_step warmup_first_step warmup_last_step start end cause nranks",
    "open_calls":
        "rank start seen_until op awaited comm_uid comm_name seq peer tag thread source count datatype",
    "hang": "operation rank role op source comm_uid comm_name seq peer count datatype",
    "endings":
        "rank ended how began time seen_until exit_code exit_signal abort_code mpi oom_kills step "
        "in_step waited held mpi_error",
    "exceptions": "rank time is_main type file line message",
    "epochs":
        "epoch shown ranks files start_unix_ns end_unix_ns ran_ns ended_by ended_rank hostname "
        "exit_code exit_signal restart_ns first_step last_step steps steps_ns kept_steps kept_ns "
        "begins_anew",
    "clocks":
        "rank hostname domain source offset_ns drift_ppm drift_error_ppm error_ns knots active_knots "
        "bounds violations violations_beyond",
    "clock_knots": "domain local_ns offset_ns error_ns",
    "operators":
        "name type kind calls total_ns self_ns self_wait_ns min_ns mean_ns max_ns p50_ns p95_ns "
        "alloc_bytes self_alloc_bytes peak_alloc_bytes share ranks max_rank max_rank_own_ns imbalance",
    "operator_types":
        "type names calls total_ns self_ns self_wait_ns min_ns mean_ns max_ns p50_ns p95_ns "
        "alloc_bytes self_alloc_bytes peak_alloc_bytes share",
    "operator_shapes":
        "operator_row shapes calls total_ns self_ns self_wait_ns min_ns mean_ns max_ns p50_ns p95_ns "
        "alloc_bytes self_alloc_bytes peak_alloc_bytes",
    "operator_stacks":
        "parent operator_row calls total_ns self_ns self_wait_ns min_ns mean_ns max_ns p50_ns p95_ns "
        "alloc_bytes self_alloc_bytes peak_alloc_bytes exclusive_ns",
    "operator_ranks": "operator_row rank calls total_ns self_ns self_wait_ns",
    "gpu_trace":
        "span_ns busy_ns compute_ns comm_ns comm_exposed_ns copy_ns idle_host_ns idle_gap_ns "
        "idle_other_ns unrecorded_ns",
    "gpu_ranks":
        "rank hostname devices device kernels copies copied_bytes span_ns busy_ns compute_ns comm_ns "
        "comm_exposed_ns copy_ns idle_host_ns idle_gap_ns idle_other_ns unrecorded_ns samples "
        "sm_clock_mhz slowed_share clock_reasons slowdown kernel_row kernel_excess_ns confidence "
        "devices_used occupancy",
    "gpu_devices":
        "rank device name kernels copies copied_bytes span_ns busy_ns compute_ns comm_ns "
        "comm_exposed_ns copy_ns occupancy samples sm_clock_mhz slowed_share uuid bus_id "
        "multiprocessors memory_most_bytes power_w power_most_w temperature_most_c power_capped_ns "
        "heat_slowed_ns brake_slowed_ns errors xids gpm gpm_ns "
        "engine_active sm_active sm_occupancy tensor_active dram_active fp64_active fp32_active "
        "fp16_active pcie_tx_bytes_per_s pcie_rx_bytes_per_s nvlink_tx_bytes_per_s nvlink_rx_bytes_per_s",
    "flops": "rank ranks steps ns flops flops_per_s gpus peak_flops type mfu",
    "step_flops": "step ranks flops flops_per_s mfu",
    "kernels":
        "name type calls total_ns mean_ns min_ns max_ns p50_ns p95_ns share operator operator_share "
        "ranks max_rank max_rank_ns imbalance",
    "kernel_ranks": "kernel_row rank calls total_ns",
    "queues":
        "rank queue place side filled_by emptied_by samples empty_samples usage empty_share mean_size "
        "capacity steps steps_empty first_empty_step last_empty_step starved_steps starved_empty "
        "starved_usage filled_by_cpus",
    "queue_series": "rank place time samples empty_samples mean_size",
    "utilisation":
        "rank hostname samples span_ns cpu_user_share cpu_sys_share main_cpu_share runq_share "
        "involuntary_cs_per_s voluntary_cs_per_s rss_max_bytes minor_faults major_faults read_bytes "
        "write_bytes threads_max host_busy_share host_steal_share throttled_share "
        "workers_max workers_cpu_share workers_read_bytes workers_write_bytes workers_io_share",
    "utilisation_series":
        "rank time cpu_share runq_share involuntary_cs_per_s rss_bytes faults_per_s io_bytes_per_s "
        "host_busy_share net_recv_bytes_per_s net_sent_bytes_per_s",
    "network_cards":
        "rank hostname card span_ns recv_bytes sent_bytes recv_packets sent_packets errors drops "
        "recv_bytes_per_s sent_bytes_per_s",
    "gpu_series":
        "rank device time samples sm_clock_mhz slowed_share power_w temperature_c busy_share "
        "memory_used_bytes sm_active tensor_active dram_active",
    "hccl_ranks": "rank comm_uid operations elapsed_ns transfer_ns wait_ns sync_ns idle_ns",
    "hccl_links": "src dst transport transfers bytes transfer_ns bandwidth usual_bandwidth",
    "msprof_steps":
        "rank step computing_ns comm_ns exposed_ns overlapped_ns free_ns stage_ns bubble_ns"
        " exposed_no_receive_ns preparing_ns",
    "pipeline_cpu": "rank name workers samples user_share sys_share max_share",
    "mindinsight_sums": "name type ranks calls mean_us max_us max_rank",
    "memory":
        "rank what device samples peak_bytes end_bytes steps bytes_per_step later_bytes_per_step fit",
    "advice": "rule saves_ns share ranks text evidence docs",
}

# By the names that src/core/tables.def gives them.
ENUMERATIONS = {
    "reason": "ring_full paused cupti_taken flush limit ring_wait no_ring disk cupti_full"
              " cupti_untimed nvml_late rocprofiler_full rocprofiler_untimed",
    "lost": "communication range step name other device",
    "recorded": "active warmup partial",
    "phase": "none data forward backward allreduce optimizer other",
    "straggler": "persistent intermittent one_off stretch",
    "cause": "unknown cpu_contention page_faults file_io data_starvation blocked_off_cpu more_cpu_work "
    "cgroup_throttling operator_grew gpu_clocks_throttled host_bound slower_kernels "
    "more_gpu_work stopped late_start host_frozen child_process garbage_collection "
    "compilation checkpoint",
    "opened": "run schedule program pcontrol ctl signal",
    "slowing": "stretch steady warm_up pauses",
    "part": "any start init setup steps tail finalize end",
    "ended": "unknown well first later",
    "how": "unknown exit signal out_of_memory mpi_abort exception",
    "mpi_use": "unknown none not_finalized finalized",
    "reach": "waiting missing held no_operations no_dump ended cut_dump",
}

REPORT_KEYS = """summary job hang epochs completeness clock parts steps step_trace trends operators flops gpu kernels
    collectives communicators hccl msprof aicore links stragglers imbalances roles hosts whatif network efficiency
    data_pipeline pipeline_cpu utilisation memory advice""".split()

STRAGGLER_KEYS = """rank hostname kind first_step last_step steps_hit excess_ns blame_ns critical_ns
    gain_ns slowdown phase cause evidence confidence start_ns end_ns lost_ns part cpus
    others_cpus others_share bound_ns without_clocks period resolvable""".split()
