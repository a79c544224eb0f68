/* The collector of one rank: creates its file and its shared memory, starts the program, and
 * empties the rings until the program has ended. Called by the guard. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "collectors/cuda/cuda_tool.h"
#include "collectors/mpi/mpi4_libraries.h"
#include "core/h5/h5types.h"
#include "core/log.h"
#include "core/remedy.h"
#include "rank/clocks/tickmap.h"
#include "rank/collect/drain.h"
#include "rank/collect/recover.h"
#include "rank/collect/selfcost.h"
#include "rank/collect/sparecore.h"
#include "rank/ring/record.h"
#include "rank/ring/segment.h"
#include "rank/run/launch.h"
#include "rank/run/memory.h"
#include "rank/run/program.h"
#include "run/activities.h"
#include "run/paths.h"
#include "run/run.h"
#include "run/run_watch.h"

/* ---- the row of /ending: when the program ended, and whether the kernel killed processes of its
 * cgroup for lack of memory; the journal has it, too, so that recovery finds it ---- */

/* Before the program's start: notes how often the kernel has killed for lack of memory. */
static void begin_end_row(const struct pw_run *run)
{
    run->lifeline->oom_kills = pw_memory_oom_kills(run->options.text[PW_OPT_FSROOT]);
}

/* The local time of the rank's events, which tests may have changed. */
static int64_t event_time(const struct pw_testclock *clock, int64_t local_ns)
{
    return clock->on ? pw_testclock_warp(clock, local_ns) : local_ns;
}

/* Appends the row. Does nothing when the end's time is not known. */
static void append_end_row(const struct pw_run *run, struct pw_rankfile *file)
{
    const int64_t ended_ns = atomic_load(&run->lifeline->ended_ns);
    const int64_t before = run->lifeline->oom_kills;
    const int64_t kills = pw_memory_oom_kills(run->options.text[PW_OPT_FSROOT]);
    const struct pw_row_ending row = {
        .time = event_time(&run->clocks.test, ended_ns),
        .oom_kills = before < 0 || kills < before ? -1 : kills - before,
    };
    if (ended_ns)
        pw_rankfile_append_measured(file, PW_TABLE_ending, &row);
}

/* ---- the program's start ---- */

/* The rings of one rank may take 1 / MEMORY_SHARE of the memory limit (the machine's memory, or the
 * cgroup's limit if that is less), because a node has many ranks. */
enum { MEMORY_SHARE = 64, SMALLEST_RING = 64 << 10 };

/* Creates the rank's shared memory, which is one file that has room for all rings. Where files may
 * not be so large (ulimit -f), smaller rings are tried. Returns 0 or -errno. */
static int create(const struct pw_run *run, struct pw_segment_shared **out)
{
    int64_t bytes = pw_option_size(&run->options, PW_OPT_RING_SIZE);
    int err;
    do {
        err = pw_segment_create(run->id.rank, (uint64_t)bytes, run->lifeline->segment, out);
        bytes /= 2;
    } while (err == -EFBIG && bytes >= SMALLEST_RING);
    return err;
}

static void ready_first_ring(const struct pw_run *run, struct pw_segment_shared *segment)
{
    const int64_t wanted = pw_option_size(&run->options, PW_OPT_RING_SIZE);
    int err = pw_segment_allocate_ring(run->lifeline->segment, segment, 0);
    const int64_t bytes =
        (int64_t)atomic_load(&segment->rings[0].records) * (int64_t)sizeof(struct pw_record);
    if (err)
        pw_say("shared memory is full (%s): calls of rank %d are counted and not recorded until "
               "there is room; give /dev/shm more",
               strerror(-err), run->id.rank);
    else if (bytes < wanted)
        pw_say("shared memory is short: rank %d records through rings of %lld KiB instead of %lld",
               run->id.rank, (long long)bytes >> 10, (long long)wanted >> 10);
}

/* Creates the segment and its first ring. Prints a message when either cannot be made or the ring
 * is smaller than requested. A segment without a ring is still useful: the program counts its calls
 * there, and tries again to get a ring. Returns 0, or -errno when there is no segment. */
static int pw_run_segment_create(const struct pw_run *run, struct pw_segment_shared **out)
{
    int err = create(run, out);
    if (err) {
        pw_say("no shared memory for rank %d (%s): %s runs unprofiled; give /dev/shm more room",
               run->id.rank, strerror(-err), run->argv[0]);
        return err;
    }
    const int64_t limit = pw_memory_limit(run->options.text[PW_OPT_FSROOT]);
    atomic_store(&(*out)->memory_bytes, limit / MEMORY_SHARE);
    ready_first_ring(run, *out);
    return 0;
}

/* The collector reads the rings at this interval; a ring that fills wakes it before. All collectors
 * of a node read rings and take samples at the same times. The ranks of a job wait for each other,
 * so the job loses less time when all its ranks are disturbed at the same time than when they are
 * disturbed one after the other. */
#define POLL_NS ((int64_t)100000000)
/* The interval while the application waits in MPI_Init for the clock synchronisation. */
#define POLL_SYNC_NS ((int64_t)1000000)

struct collector {
    struct pw_run *run;
    char probe[4096];
    char mpi4[4096]; /* the library that is preloaded for programs linked to MPICH; "": none */
    struct pw_segment_shared *segment;
    struct pw_rankfile *file;
    struct pw_journal *journal; /* NULL when there was no room for one */
    struct pw_intake *intake;
    struct pw_drain *drain;
    struct pw_run_watch watch;
    struct pw_cuda_other other_cuda;
    struct pw_exit end;
};

static void join_command(char **argv, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; argv[i] && used < size - 1; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " " : "", argv[i]);
}

/* Creates the rank's file. Returns -1 when the run can continue, else the exit status. */
static int prepare_file(struct collector *c, struct pw_journal_head *head)
{
    struct pw_run *run = c->run;
    join_command(run->argv, head->command, sizeof(head->command));
    pw_h5_quiet();
    int err = pw_rankfile_create(run->dir, &run->id, head->command, run->compression, &c->file);
    const int unprofiled = err && pw_run_goes_on_after(run, err);
    if (err == -EEXIST)
        pw_error("%s already holds rank %d of this job; choose another directory with -o", run->dir,
                 run->id.rank);
    else if (err)
        pw_error("cannot write the file of rank %d in %s: %s%s", run->id.rank, run->dir,
                 pw_remedy(err), unprofiled ? "; running unprofiled" : "");
    if (err)
        return unprofiled ? pw_run_unprofiled(run) : 1;
    pw_rankfile_set_text(c->file, "clock_sync", run->options.text[PW_OPT_CLOCK_SYNC]);
    pw_rankfile_borrow_budget(c->file)->limit_bytes =
        pw_option_size(&run->options, PW_OPT_MAX_MEMORY);
    return -1;
}

static int find_probe(struct collector *c)
{
    char private_dir[4000];
    int err = pw_cli_private_dir(private_dir, sizeof(private_dir));
    snprintf(c->probe, sizeof(c->probe), "%s/libprofwrap_probe.so", private_dir);
    snprintf(c->mpi4, sizeof(c->mpi4), "%s/" PW_MPI4_LINKED, private_dir);
    if (!pw_program_command_needs_other_abi(c->run->argv) || access(c->mpi4, R_OK))
        c->mpi4[0] = '\0';
    if (err || access(c->probe, R_OK))
        err = -ENOENT;
    else if (strpbrk(c->probe, " :"))
        err = -EINVAL; /* the loader splits LD_PRELOAD at both */
    if (err == -ENOENT)
        pw_error(
            "libprofwrap_probe.so is not beside this program: install profwrap again; running %s "
            "unprofiled",
            c->run->argv[0]);
    if (err == -EINVAL)
        pw_error("the path %s has a space or colon in it, which LD_PRELOAD cannot hold: install "
                 "profwrap at another path; running %s "
                 "unprofiled",
                 c->probe, c->run->argv[0]);
    return err;
}

static int create_segment(struct collector *c)
{
    int err = pw_run_segment_create(c->run, &c->segment);
    if (err) {
        const struct pw_row_unrecorded row = {
            .time = pw_local_ns(), .reason = PW_UNRECORDED_NO_MEMORY, .count = 1};
        pw_rankfile_append(c->file, PW_TABLE_unrecorded, &row);
        /* The merge must run nevertheless, because other ranks may be recorded. */
        atomic_store(&c->run->lifeline->is_profiled, 1);
    }
    return err;
}

static void describe(const struct collector *c, struct pw_journal_head *head)
{
    const struct pw_run *run = c->run;
    head->id = run->id;
    head->test_clock = run->clocks.test;
    head->compression = run->compression;
    head->activities = run->activities;
    head->stack_depth = (uint32_t)pw_option_int(&run->options, PW_OPT_CALL_STACKS);
    head->start_unix_ns = pw_rankfile_start_unix_ns(c->file);
    snprintf(head->clock_sync, sizeof(head->clock_sync), "%s",
             run->options.text[PW_OPT_CLOCK_SYNC]);
    snprintf(head->segment, sizeof(head->segment), "%s", run->lifeline->segment);
}

/* Writes the settings that the program reads from the shared memory. */
static void set_up_segment(struct collector *c, const struct pw_journal_head *head)
{
    c->segment->tick_source = head->tick_source;
    c->segment->level = (uint32_t)pw_option_int(&c->run->options, PW_OPT_LEVEL);
    c->segment->activities = head->activities;
    c->segment->stack_depth = head->stack_depth;
    c->segment->world_size = c->run->id.size;
    c->segment->waits = strcmp(c->run->options.text[PW_OPT_ON_FULL], "wait") == 0;
    c->segment->test_clock = head->test_clock;
    c->segment->clock_domain = head->id.clock_domain_hash;
    c->segment->control.schedule = c->run->schedule;
    c->segment->control.starts_paused =
        (uint32_t)pw_option_flag(&c->run->options, PW_OPT_START_PAUSED);
    atomic_store(&c->segment->control.step, -1);
    atomic_store(&c->segment->guard_pid, c->run->lifeline->guard_pid);
    pw_run_clocks_set_up(&c->run->clocks, c->segment);
}

/* Creates the shared memory, the journal, the intake and the drain. Returns 0 or -errno. */
static int prepare_capture(struct collector *c, struct pw_journal_head *head)
{
    int err = find_probe(c);
    err = err ? err : create_segment(c);
    if (err)
        return err;
    describe(c, head);
    head->tick_source = pw_tick_choose(c->run->options.text[PW_OPT_FSROOT]);
    pw_rankfile_set_text(c->file, "tick_source",
                         pw_tick_name((enum pw_tick_source)head->tick_source));
    set_up_segment(c, head);
    err = pw_journal_create(c->run->dir, head, &c->journal);
    if (err)
        pw_say("no journal of rank %d (%s): if its collector is killed, its records are lost",
               c->run->id.rank, strerror(-err));
    pw_rankfile_use_journal(c->file, c->journal);
    const struct pw_intake_setup setup = {head->activities, head->stack_depth,
                                          (enum pw_tick_source)head->tick_source, head->test_clock,
                                          c->segment};
    c->intake = pw_intake_create(&setup, c->file, pw_cli_modules());
    c->drain = c->intake
                   ? pw_drain_create(c->run->lifeline->segment, c->segment, c->journal, c->intake)
                   : NULL;
    if (!c->drain)
        return -ENOMEM;
    pw_drain_use_salvage(c->drain, pw_cli_modules());
    pw_drain_limit(c->drain, c->file, pw_option_size(&c->run->options, PW_OPT_MAX_FILE_SIZE));
    return 0;
}

static int start(struct collector *c)
{
    struct pw_injection injection;
    pw_injection_choose(c->run, c->probe, &injection);
    const struct pw_launch launch = {
        .probe = c->probe,
        .mpi4 = c->mpi4[0] ? c->mpi4 : NULL,
        .audit = injection.audit,
        .segment = c->run->lifeline->segment,
        .directory = c->run->dir,
        .nvtx = injection.nvtx,
        .cuda = injection.cuda,
        .nccl = injection.nccl,
        .python = injection.python,
        .argv = c->run->argv,
        .lifeline = c->run->lifeline,
        .umask = c->run->umask,
    };
    if (!launch.cuda && (c->run->activities & PW_ACTIVITY_CUDA))
        pw_cuda_other_begin(&c->other_cuda, c->segment, getenv(PW_CUDA_VARIABLE));
    atomic_store(&c->run->lifeline->is_profiled, 1);
    atomic_store(&c->run->lifeline->is_recording, c->journal != NULL);
    pid_t pid = pw_launch_start(&launch, c->run->path);
    if (pid < 0 && pid != -ESRCH)
        pw_error("cannot run %s: %s", c->run->path, pw_remedy(pid));
    return pid > 0 ? 0 : (int)pid;
}

/* Time from now to the next multiple of `period` on the node's clock, ns. */
static int64_t until_next(int64_t period)
{
    return period - pw_local_ns() % period;
}

/* Empties the rings when it is time to, at `due`; before that, takes only what must not wait.
 * Returns when to empty them next. */
static int64_t empty_rings(struct collector *c, int64_t due, int64_t period)
{
    if (pw_local_ns() < due) {
        pw_drain_relieve(c->drain);
        return due;
    }
    pw_drain_run(c->drain);
    return pw_local_ns() + until_next(period);
}

/* Drains and samples until the program has ended. */
static void follow(struct collector *c)
{
    int64_t hz = pw_option_int(&c->run->options, PW_OPT_SAMPLE_HZ);
    int64_t period = hz ? 1000000000 / hz : INT64_MAX / 2, next_sample = pw_local_ns();
    int64_t rest = period < POLL_NS ? period : POLL_NS;
    const pid_t pid = atomic_load(&c->run->lifeline->program_pid);
    struct pw_unrecorded_watch *unrecorded = c->run->activities & PW_ACTIVITY_MPI
                                                 ? pw_unrecorded_create(pid, c->segment, c->file)
                                                 : NULL;
    c->watch = (struct pw_run_watch){
        .dir = c->run->dir,
        .id = &c->run->id,
        .page = &c->run->clocks.agreement.page,
        .segment = c->segment,
        .drain = c->drain,
        .unrecorded = unrecorded,
        .pid = pid,
        .signalled = &c->run->lifeline->signalled,
    };
    pw_run_watch_init(&c->watch, &c->run->options);
    for (int64_t due = 0;;) {
        uint32_t seen = atomic_load(&c->segment->wake);
        if (pw_launch_has_ended(c->run->lifeline, &c->end))
            break;
        int waits = pw_run_clocks_poll(&c->run->clocks, c->segment, c->file);
        if (pw_local_ns() >= next_sample) {
            pw_intake_sample(c->intake, pid);
            next_sample = pw_local_ns() + until_next(period);
        }
        due = empty_rings(c, due, rest);
        atomic_store(&c->run->lifeline->is_at_work, 1);
        pw_run_watch_poll(&c->watch);
        pw_cuda_other_poll(&c->other_cuda, pid);
        const int64_t left = due - pw_local_ns();
        if (pw_drain_must_go_on(c->drain) || left <= 0)
            continue;
        atomic_store(&c->segment->sleeping, 1);
        pw_launch_sleep(&c->segment->wake, seen,
                        waits && left > POLL_SYNC_NS ? POLL_SYNC_NS : left);
        atomic_store(&c->segment->sleeping, 0);
    }
    atomic_store(&c->run->lifeline->mpi_phase, 1 + (int32_t)atomic_load(&c->segment->mpi_phase));
    pw_run_watch_fini(&c->watch);
}

/* Adds the program's end to the journal, which then has all records: from now on the file can be
 * made without the rings, even when this process is killed. */
static void add_end(struct collector *c)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const struct pw_journal_end end = {
        .exit_code = c->end.code,
        .exit_signal = c->end.signal,
        .pid = atomic_load(&c->run->lifeline->program_pid),
        .end_unix_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec,
    };
    pw_journal_add_end(c->journal, &end);
    /* When the end cannot be written, the rings are kept: they have the missing records' count. */
    if (pw_journal_commit(c->journal) == 0)
        shm_unlink(c->run->lifeline->segment);
}

/* Says that the rank's file could not be completed. `lacking`: number of records that are missing
 * in the journal. */
static void say_unfinished(const struct pw_run *run, int err, uint64_t lacking)
{
    char lost[96] = "";
    if (lacking)
        snprintf(lost, sizeof(lost), ", which lacks %llu records", (unsigned long long)lacking);
    pw_error("the file of rank %d in %s could not be completed: %s; fix that, then run 'profwrap "
             "recover %s' to make the file from its journal%s",
             run->id.rank, run->dir, strerror(-err), run->dir, lost);
}

static void unmap_segment(struct collector *c)
{
    pw_launch_outlive_signals(NULL); /* the handler changes a word in the segment */
    pw_segment_detach(c->segment);
}

/* Writes to /overhead how much memory this collector used, and how many definitions it refused. */
static void state_memory(const struct collector *c)
{
    struct rusage usage = {0};
    const struct pw_budget *budget = pw_rankfile_borrow_budget(c->file);
    getrusage(RUSAGE_SELF, &usage);
    pw_rankfile_overhead(c->file, "collector_memory_peak", 1024.0 * (double)usage.ru_maxrss,
                         "bytes");
    pw_rankfile_overhead(c->file, "collector_definitions", (double)budget->used_bytes, "bytes");
    if (!budget->refused)
        return;
    pw_rankfile_overhead(c->file, "refused_definitions", (double)budget->refused, "definitions");
    pw_say("rank %d has more names, call stacks or communicators than --max-memory %s can hold: "
           "%lld were not kept",
           c->run->id.rank, c->run->options.text[PW_OPT_MAX_MEMORY], (long long)budget->refused);
}

/* Completes and closes the rank's file. When that fails, the journal is kept. */
static void close_file(struct collector *c)
{
    const struct pw_run *run = c->run;
    const int unread = pw_drain_finish(c->drain);
    pw_drain_destroy(c->drain);
    append_end_row(run, c->file);
    if (!unread)
        add_end(c);
    pw_intake_finish(c->intake, pw_testclock_now(&run->clocks.test));
    pw_cuda_other_finish(&c->other_cuda, c->file);
    pw_rankfile_overhead(c->file, "event_cost", pw_selfcost_event_ns(c->segment), "ns");
    state_memory(c);
    const struct pw_rankfile_end end = {
        .exit_code = c->end.code,
        .exit_signal = c->end.signal,
        .complete = 1,
        .pid = atomic_load(&run->lifeline->program_pid),
    };
    int err = unread ? unread : pw_rankfile_close(c->file, &end);
    if (unread)
        pw_rankfile_discard(c->file);
    pw_intake_destroy(c->intake);
    if (err && c->journal)
        say_unfinished(run, err, pw_journal_lacking(c->journal));
    else if (err)
        pw_error("the file of rank %d in %s is incomplete: %s", run->id.rank, run->dir,
                 pw_remedy(err));
    if (!err)
        shm_unlink(run->lifeline->segment);
    if (err)
        pw_journal_close(c->journal);
    else
        pw_journal_remove(c->journal);
    unmap_segment(c);
}

/* Runs the program without a probe, and closes a file that has no events but the exit status. */
static int close_without_capture(struct collector *c)
{
    int status = pw_run_unprofiled(c->run);
    struct pw_exit end = {.code = status};
    pw_launch_has_ended(c->run->lifeline, &end);
    append_end_row(c->run, c->file);
    const struct pw_rankfile_end none = {
        .exit_code = end.code, .exit_signal = end.signal, .complete = 1};
    pw_rankfile_close(c->file, &none);
    return status;
}

/* Removes the files and the shared memory of a collector that was killed before it started the
 * program. */
static void remove_remains(const struct pw_run *run)
{
    static const char *const suffixes[] = {"h5.part", "journal"};
    for (int i = 0; i < 2; i++) {
        char path[4200];
        snprintf(path, sizeof(path), "%s/rank-%05d.%s", run->dir, run->id.rank, suffixes[i]);
        unlink(path);
    }
    if (run->lifeline->segment[0])
        shm_unlink(run->lifeline->segment);
    atomic_store(&run->lifeline->is_recording, 0);
}

/* Lets this collector use all cores of the job, and not those to which the launcher bound the rank
 * when there are enough others: there it would take the program's time. */
static void leave_cores(const struct pw_run *run)
{
    if (run->launcher)
        pw_sparecore_leave(run->launcher, run->id.local_size);
}

/* Prepares this process to outlive the signals of the launcher, and the guard, which prints its
 * messages. */
static void outlive(const struct pw_run *run)
{
    char path[4200];
    pw_launch_outlive_signals(NULL);
    snprintf(path, sizeof(path), "%s/messages.txt", run->dir);
    pw_log_set_file(path);
}

int pw_collect(void *arg, int attempt)
{
    static struct pw_journal_head head;
    struct pw_run *run = arg;
    struct collector c = {.run = run};
    outlive(run);
    if (attempt > 0)
        remove_remains(run);
    int status = prepare_file(&c, &head);
    if (status >= 0)
        return status;
    begin_end_row(run);
    if (prepare_capture(&c, &head))
        return close_without_capture(&c);
    pw_launch_outlive_signals(&c.segment->wake);
    int err = start(&c);
    if (err == -ESRCH) {
        remove_remains(run);
        return 1;
    }
    if (err) {
        c.end = (struct pw_exit){.code = err == -ENOENT ? 127 : 126};
        close_file(&c);
        return c.end.code;
    }
    leave_cores(run); /* after the program's start, which keeps its own */
    pw_drain_spare_core(c.drain, run->options.text[PW_OPT_FSROOT]);
    pw_run_clocks_begin(&run->clocks);
    follow(&c);
    pw_run_clocks_end(&run->clocks, c.file);
    close_file(&c);
    pw_run_clocks_leave(&run->clocks);
    return pw_exit_status(&c.end);
}

/* Opens the journal and the rings of a killed collector, to continue its work. Returns 0 or -errno.
 */
static int take_up(struct collector *c, int *has_end)
{
    const struct pw_run *run = c->run;
    int err = pw_journal_resume(run->dir, run->id.rank, &c->journal, has_end);
    err = err ? err : pw_segment_attach(run->lifeline->segment, &c->segment);
    if (err)
        return err;
    const struct pw_intake_setup sampling = {.activities = run->activities,
                                             .test_clock = run->clocks.test};
    atomic_store(&c->segment->tool_pid, getpid());
    c->file = pw_rankfile_create_on_journal(c->journal);
    c->intake = c->file ? pw_intake_create(&sampling, c->file, pw_cli_modules()) : NULL;
    c->drain =
        c->intake ? pw_drain_create(run->lifeline->segment, c->segment, c->journal, NULL) : NULL;
    if (!c->drain)
        return -ENOMEM;
    pw_drain_use_salvage(c->drain, pw_cli_modules());
    pw_drain_limit(c->drain, NULL, pw_option_size(&run->options, PW_OPT_MAX_FILE_SIZE));
    return 0;
}

/* As take_up(), but waits while another process has the journal locked. That takes a short time:
 * the other process is `profwrap recover`, which does not change the files of a running rank, or
 * the program's process between fork and exec. */
static int take_up_when_free(struct collector *c, int *has_end)
{
    static _Atomic uint32_t never;
    enum { LOOK_NS = 10000000 };
    int err = take_up(c, has_end);
    while (err == -EBUSY && !pw_launch_has_ended(c->run->lifeline, &c->end)) {
        pw_launch_sleep(&never, 0, LOOK_NS);
        err = take_up(c, has_end);
    }
    return err;
}

int pw_collect_on(void *arg, int attempt)
{
    static _Atomic uint32_t never;
    struct pw_run *run = arg;
    struct collector c = {.run = run};
    int has_end = 0;
    leave_cores(run);
    outlive(run);
    pw_h5_quiet();
    pw_debug(PW_LOG_LAUNCH, 1, "collector %d of rank %d", attempt, run->id.rank);
    int err = take_up_when_free(&c, &has_end);
    if (!err) {
        pw_launch_outlive_signals(&c.segment->wake);
        follow(&c);
        if (!has_end && pw_drain_finish(c.drain) == 0) {
            append_end_row(run, c.file);
            add_end(&c);
        }
        pw_drain_destroy(c.drain);
        pw_intake_destroy(c.intake);
        unmap_segment(&c);
    }
    const uint64_t lacking = pw_journal_lacking(c.journal);
    pw_journal_close(c.journal);
    while (!pw_launch_has_ended(run->lifeline, &c.end))
        pw_launch_sleep(&never, 0, POLL_NS);
    err = pw_run_recover(run);
    if (err)
        say_unfinished(run, err, lacking);
    pw_run_clocks_leave(&run->clocks);
    return pw_exit_status(&c.end);
}
