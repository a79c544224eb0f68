/* `profwrap [run] PROGRAM`: one rank's collector, from reading the options to the exit status.
 * Capture that cannot work never stops the program: it then runs unprofiled, and one line says so.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/conclude.h"
#include "cli/run_clocks.h"
#include "collectors/mpi/mpi_tool.h"
#include "collectors/note/note_tool.h"
#include "collectors/null/null_tool.h"
#include "collectors/sys/sys_host.h"
#include "collectors/sys/sys_process.h"
#include "core/h5types.h"
#include "core/log.h"
#include "core/options.h"
#include "rank/drain.h"
#include "rank/identity.h"
#include "rank/launch.h"
#include "rank/outdir.h"
#include "rank/program.h"
#include "rank/selfcost.h"

/* Rings are looked at this often; a ring that fills faster wakes the collector. */
#define POLL_NS ((int64_t)50000000)
/* While the ranks agree on the clock synchronisation, the application waits for it. */
#define POLL_SYNC_NS ((int64_t)1000000)

static struct pw_collector collectors[8]; /* the table, ended by an empty row */

struct run {
    struct pw_options options;
    struct pw_identity id;
    char **argv;
    char path[4096]; /* of the program */
    char dir[4096];  /* output */
    char probe[4096];
    char segment_name[PW_SEGMENT_NAME_SIZE];
    struct pw_segment_shared *segment;
    struct pw_rankfile *file;
    struct pw_drain *drain;
    struct pw_run_clocks clocks;
    pid_t pid;
    struct pw_exit end;
};

static void list_collectors(void)
{
    collectors[0] = pw_collector_mpi;
    collectors[1] = pw_collector_note;
    collectors[2] = pw_collector_sys;
    collectors[3] = pw_collector_host;
    collectors[4] = pw_collector_null;
}

/* A failure that every rank of a host meets alike is said once per host. */
static int is_spokesman(const struct run *run)
{
    return run->id.local_rank == 0;
}

/* Ends with `status` after such a failure. The launcher kills all ranks when the first has ended:
 * those that say nothing let the one that does go first. */
static int fail_alike(const struct run *run, int status)
{
    enum { GO_FIRST_US = 500000 };
    if (!is_spokesman(run))
        usleep(GO_FIRST_US);
    return status;
}

static uint32_t parse_activities(const char *list, char *problem, size_t size)
{
    uint32_t bits = 0;
    while (*list) {
        size_t length = strcspn(list, ",");
        const struct pw_collector *found = NULL;
        for (int i = 0; collectors[i].name; i++)
            if (strlen(collectors[i].name) == length &&
                strncmp(list, collectors[i].name, length) == 0)
                found = &collectors[i];
        if (!found) {
            snprintf(problem, size, "--activities: '%.*s' is not one of mpi, note, sys",
                     (int)length, list);
            return 0;
        }
        bits |= found->activity;
        list += length + (list[length] == ',');
    }
    if (!bits)
        snprintf(problem, size, "--activities names nothing");
    return bits;
}

/* "none" is 0, "deflate:N" is N; -1 when it is neither. */
static int parse_compression(const char *text)
{
    if (strcmp(text, "none") == 0)
        return 0;
    if (strncmp(text, "deflate:", 8) == 0 && text[8] >= '1' && text[8] <= '9' && !text[9])
        return text[8] - '0';
    return -1;
}

static int check_options(struct run *run)
{
    char *problem = run->options.problem;
    int64_t ring = pw_option_size(&run->options, PW_OPT_RING_SIZE);
    if (!parse_activities(run->options.text[PW_OPT_ACTIVITIES], problem,
                          sizeof(run->options.problem)))
        return -EINVAL;
    if (parse_compression(run->options.text[PW_OPT_COMPRESS]) < 0)
        snprintf(problem, sizeof(run->options.problem),
                 "--compress is '%.64s', but takes none or deflate:1 to deflate:9",
                 run->options.text[PW_OPT_COMPRESS]);
    else if (ring < 64 << 10 || ring > 1 << 30)
        snprintf(problem, sizeof(run->options.problem),
                 "--ring-size is '%.64s', but takes 64K to 1G",
                 run->options.text[PW_OPT_RING_SIZE]);
    else if (pw_option_int(&run->options, PW_OPT_SAMPLE_HZ) > 1000)
        snprintf(problem, sizeof(run->options.problem),
                 "--sample-hz is '%.64s', but takes 0 to 1000",
                 run->options.text[PW_OPT_SAMPLE_HZ]);
    else if (pw_option_int(&run->options, PW_OPT_CALL_STACKS) > PW_MAX_STACK)
        snprintf(problem, sizeof(run->options.problem),
                 "--call-stacks is '%.64s', but takes 0 to %d",
                 run->options.text[PW_OPT_CALL_STACKS], PW_MAX_STACK);
    return problem[0] ? -EINVAL : 0;
}

/* Options, identity and program; -1 to go on, else the exit status. */
static int understand(struct run *run, int argc, char **argv)
{
    int next = 1, help = 0, version = 0;
    list_collectors();
    int err = pw_options_init(&run->options);
    pw_identity_find(&run->id,
                     run->options.text[PW_OPT_FSROOT] ? run->options.text[PW_OPT_FSROOT] : "",
                     run->options.text[PW_OPT_HOSTNAME] ? run->options.text[PW_OPT_HOSTNAME] : "");
    err =
        err ? err : pw_options_parse(&run->options, PW_CMD_RUN, argc, argv, &next, &help, &version);
    if (!err && help) {
        printf("Usage: profwrap [run] [OPTIONS] [--] PROGRAM [ARGS...]\n\n");
        pw_options_print_help(stdout, PW_CMD_RUN);
        return 0;
    }
    if (!err && version) {
        printf("profwrap %s\n", PROFWRAP_VERSION);
        return 0;
    }
    err = err ? err : check_options(run);
    err = err ? err : pw_run_clocks_read(&run->clocks, &run->options, &run->id);
    if (err || next >= argc) {
        if (is_spokesman(run))
            pw_error("%s", err ? run->options.problem
                               : "no program given; usage: profwrap [OPTIONS] PROGRAM [ARGS...]");
        return fail_alike(run, 2);
    }
    pw_log_set_quiet(pw_option_flag(&run->options, PW_OPT_QUIET));
    run->argv = argv + next;
    err = pw_program_find(run->argv[0], run->path, sizeof(run->path));
    if (err && is_spokesman(run))
        pw_error("cannot run %s: %s", run->argv[0],
                 err == -ENOENT ? "no such program" : strerror(-err));
    return err ? fail_alike(run, err == -ENOENT ? 127 : 126) : -1;
}

/* Whether the probe can do anything for this program; says why not. */
static int can_profile(struct run *run)
{
    char library[128], problem[256] = "";
    switch (pw_program_inspect(run->path, library, sizeof(library))) {
    case PW_PROGRAM_STATIC:
        snprintf(problem, sizeof(problem),
                 "is statically linked and cannot be profiled; link it dynamically");
        break;
    case PW_PROGRAM_OTHER_MPI:
        snprintf(problem, sizeof(problem),
                 "is built against %.100s, not Open MPI, and cannot be profiled", library);
        break;
    case PW_PROGRAM_OTHER_ARCH:
        snprintf(problem, sizeof(problem),
                 "is a program for another machine or word size and cannot be profiled");
        break;
    default:
        break;
    }
    if (problem[0] && is_spokesman(run))
        pw_say("%s %s; running it unprofiled", run->argv[0], problem);
    return !problem[0];
}

static void join_command(char **argv, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; argv[i] && used < size - 1; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " " : "", argv[i]);
}

/* The directory and the rank's file; -1 to go on, else the exit status. */
static int prepare_output(struct run *run)
{
    char problem[4300], command[2048];
    int err = pw_identity_expand(&run->id, run->options.text[PW_OPT_OUTPUT], run->dir,
                                 sizeof(run->dir) - 64);
    if (err) {
        pw_error("--output is too long");
        return 2;
    }
    err = pw_outdir_prepare(run->dir, run->id.job, problem, sizeof(problem));
    if (err) {
        if (is_spokesman(run))
            pw_error("%s", problem);
        return fail_alike(run, err == -EEXIST ? 2 : 1);
    }
    join_command(run->argv, command, sizeof(command));
    pw_h5_quiet();
    err = pw_rankfile_create(run->dir, &run->id, command,
                             parse_compression(run->options.text[PW_OPT_COMPRESS]), &run->file);
    if (err == -EEXIST)
        pw_error("%s already holds rank %d of this job; choose another directory with -o", run->dir,
                 run->id.rank);
    else if (!err)
        pw_rankfile_set_text(run->file, "clock_sync", run->options.text[PW_OPT_CLOCK_SYNC]);
    else
        pw_error("cannot write the file of rank %d in %s: %s", run->id.rank, run->dir,
                 strerror(-err));
    return err ? 1 : -1;
}

static int prepare_probe(struct run *run)
{
    char private_dir[4000];
    int err = pw_cli_private_dir(private_dir, sizeof(private_dir));
    snprintf(run->probe, sizeof(run->probe), "%s/libprofwrap_probe.so", private_dir);
    if (err || access(run->probe, R_OK))
        return -ENOENT;
    /* The loader splits LD_PRELOAD at both. */
    return strpbrk(run->probe, " :") ? -EINVAL : 0;
}

/* Shared memory and everything that reads it. Rings that do not fit are made smaller, down to 64
 * KiB. */
static int prepare_capture(struct run *run)
{
    int err = prepare_probe(run);
    if (err == -ENOENT)
        pw_error("libprofwrap_probe.so is not beside this program; running %s unprofiled",
                 run->argv[0]);
    if (err == -EINVAL)
        pw_error("the path %s has a space or colon in it, which LD_PRELOAD cannot hold; running %s "
                 "unprofiled",
                 run->probe, run->argv[0]);
    if (err)
        return err;

    int64_t wanted = pw_option_size(&run->options, PW_OPT_RING_SIZE), bytes = wanted;
    do {
        err = pw_segment_create(run->id.rank, (uint64_t)bytes, run->segment_name, &run->segment);
        if (!err)
            err = pw_segment_allocate_ring(run->segment_name, run->segment, 0);
        if (err && run->segment) {
            shm_unlink(run->segment_name);
            munmap(run->segment, PW_SEGMENT_PAGE);
            run->segment = NULL;
        }
        bytes /= 2;
    } while (err == -ENOSPC && bytes >= 64 << 10);
    if (err) {
        pw_say(
            "no shared memory for rank %d (%s): running %s unprofiled; give /dev/shm more room, or "
            "use a smaller --ring-size",
            run->id.rank, strerror(-err), run->argv[0]);
        return err;
    }
    if (bytes * 2 < wanted)
        pw_say("shared memory is short: rank %d records through rings of %lld KiB instead of %lld",
               run->id.rank, (long long)bytes * 2 >> 10, (long long)wanted >> 10);
    enum pw_tick_source ticks = pw_tick_choose(run->options.text[PW_OPT_FSROOT]);
    pw_rankfile_set_text(run->file, "tick_source", pw_tick_name(ticks));
    run->segment->tick_source = ticks;
    run->segment->level = (uint32_t)pw_option_int(&run->options, PW_OPT_LEVEL);
    run->segment->activities =
        parse_activities(run->options.text[PW_OPT_ACTIVITIES], run->options.problem, 1);
    run->segment->stack_depth = (uint32_t)pw_option_int(&run->options, PW_OPT_CALL_STACKS);
    run->segment->test_clock = run->clocks.test;
    run->segment->clock_domain = run->id.clock_domain_hash;
    run->drain = pw_drain_create(run->segment_name, run->segment, run->file, collectors);
    return run->drain ? 0 : -ENOMEM;
}

static int start(struct run *run, int profiled)
{
    pw_launch_catch_signals(profiled ? &run->segment->wake : NULL);
    struct pw_launch launch = {
        .probe = profiled ? run->probe : NULL,
        .segment = run->segment_name,
        .argv = run->argv,
    };
    run->pid = pw_launch_start(&launch, run->path);
    if (run->pid < 0)
        pw_error("cannot run %s: %s", run->path, strerror(-run->pid));
    return run->pid > 0 ? 0 : (int)run->pid;
}

/* Drains and samples until the program has ended. */
static void follow(struct run *run)
{
    int64_t hz = pw_option_int(&run->options, PW_OPT_SAMPLE_HZ);
    int64_t period = hz ? 1000000000 / hz : INT64_MAX / 2, next_sample = pw_local_ns();
    int flushed = 0;
    for (;;) {
        uint32_t seen = atomic_load(&run->segment->wake);
        if (pw_launch_has_ended(run->pid, &run->end))
            return;
        int waits = pw_run_clocks_poll(&run->clocks, run->segment, run->file);
        int64_t drained = pw_drain_run(run->drain);
        if (pw_local_ns() >= next_sample) {
            pw_drain_sample(run->drain, run->pid);
            next_sample = pw_local_ns() + period;
        }
        if (pw_launch_end_requested() && !flushed) {
            pw_rankfile_flush(run->file);
            flushed = 1;
        }
        if (drained > (int64_t)run->segment->ring_records / 4)
            continue; /* it is filling fast: look again at once */
        atomic_store(&run->segment->sleeping, 1);
        pw_launch_sleep(&run->segment->wake, seen, waits ? POLL_SYNC_NS : POLL_NS);
        atomic_store(&run->segment->sleeping, 0);
    }
}

static void close_file(struct run *run)
{
    pw_drain_finish(run->drain);
    pw_rankfile_overhead(run->file, "event_cost", pw_selfcost_event_ns(run->segment), "ns");
    struct pw_rankfile_end end = {
        .exit_code = run->end.code,
        .exit_signal = run->end.signal,
        .complete = 1,
        .pid = run->pid,
    };
    int err = pw_rankfile_close(run->file, &end);
    if (err)
        pw_error("the file of rank %d in %s is incomplete: %s", run->id.rank, run->dir,
                 strerror(-err));
    pw_drain_destroy(run->drain);
    pw_launch_catch_signals(NULL); /* the word that handlers change is about to go */
    shm_unlink(run->segment_name);
    munmap(run->segment, PW_SEGMENT_PAGE);
}

/* A launcher that ends a job kills process groups, and not always as late as it means to: mpirun's
 * second between SIGTERM and SIGKILL is over as soon as any other rank ends. What is left to do is
 * therefore done in a group of its own, which outlives ours if it must. */
static void finish_apart(struct run *run)
{
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        close_file(run);
        _exit(0);
    }
    if (pid < 0) {
        close_file(run);
        return;
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    pw_rankfile_let_go(run->file);
}

static int run_unprofiled(struct run *run)
{
    pw_agree_refuse(&run->clocks.agreement);
    if (start(run, 0))
        return 126;
    sigset_t none;
    sigemptyset(&none);
    _Atomic uint32_t never = 0;
    while (!pw_launch_has_ended(run->pid, &run->end))
        pw_launch_sleep(&never, 0, POLL_NS);
    return pw_exit_status(&run->end);
}

int pw_cli_run(int argc, char **argv)
{
    static struct run run;
    int status = understand(&run, argc, argv);
    if (status >= 0)
        return status;
    if (!can_profile(&run))
        return run_unprofiled(&run);
    status = prepare_output(&run);
    if (status >= 0)
        return status;
    pw_run_clocks_init(&run.clocks, &run.id, run.dir);
    if (prepare_capture(&run)) {
        struct pw_rankfile_end none = {.complete = 1};
        status = run_unprofiled(&run);
        none.exit_code = run.end.code;
        none.exit_signal = run.end.signal;
        pw_rankfile_close(run.file, &none);
        return status;
    }
    if (start(&run, 1)) {
        run.end = (struct pw_exit){.code = run.pid == -ENOENT ? 127 : 126};
        close_file(&run);
        return run.end.code;
    }
    pw_run_clocks_begin(&run.clocks);
    follow(&run);
    pw_run_clocks_end(&run.clocks, run.file); /* its thread must not be there at a fork */
    finish_apart(&run);
    pw_run_clocks_fini(&run.clocks);
    if (run.id.rank == 0 && !pw_option_flag(&run.options, PW_OPT_NO_MERGE))
        pw_conclude(run.dir, run.id.size, &run.options);
    return pw_exit_status(&run.end);
}
