/* Waits for the ranks' files, merges, reports; see conclude.h. The merge runs as a separate MPI
 * job, because MPI cannot be initialised again after MPI_Finalize. */
#include "cli/conclude/conclude.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/conclude/waitline.h"
#include "cli/libexec.h"
#include "core/epochdir.h"
#include "core/h5/epochs.h"
#include "core/h5/h5types.h"
#include "core/log.h"
#include "rank/run/launch.h"
#include "rank/run/program.h"
#include "report/writing/words.h"
#include "run/paths.h"

/* ---- the mpirun that starts the processes of a merge ---- */

/* A script named mpirun may hang when asked for its version. */
enum { PATIENCE_SCRIPT_MS = 5000 };

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* In the child: leaves the pipe as standard output. */
__attribute__((noreturn)) static void ask_version(const char *path, const int pipe_ends[2])
{
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDERR_FILENO);
    dup2(pipe_ends[1], STDOUT_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    execl(path, path, "--version", (char *)NULL);
    _exit(127);
}

/* Reads until the text ends, is full, or PATIENCE_SCRIPT_MS have passed. */
static void read_text(int fd, char *text, size_t size)
{
    const int64_t until = now_ms() + PATIENCE_SCRIPT_MS;
    size_t used = 0;
    while (used + 1 < size) {
        struct pollfd readable = {.fd = fd, .events = POLLIN};
        const int64_t left = until - now_ms();
        if (left <= 0 || poll(&readable, 1, (int)left) <= 0)
            break;
        const ssize_t n = read(fd, text + used, size - 1 - used);
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    text[used] = '\0';
}

/* Reads what `path --version` prints, as much as fits into `text`. */
static void read_version(const char *path, char *text, size_t size)
{
    int ends[2];
    text[0] = '\0';
    if (pipe2(ends, O_CLOEXEC))
        return;
    const pid_t pid = fork();
    if (pid == 0)
        ask_version(path, ends);
    close(ends[1]);
    if (pid > 0) {
        read_text(ends[0], text, size);
        kill(pid, SIGKILL); /* all that matters has been said */
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
}

/* In Open MPI 4, mpirun is a link to orterun. Any other program is asked for its version. */
static int is_open_mpi(const char *path)
{
    char real[PATH_MAX], text[256];
    const char *name = realpath(path, real) ? strrchr(real, '/') : NULL;
    if (name && strcmp(name, "/orterun") == 0)
        return 1;
    read_version(path, text, sizeof(text));
    return strstr(text, "(Open MPI)") != NULL;
}

/* Whether the environment suits this mpirun: OPAL_PREFIX leads every Open MPI to the files of one
 * installation. Open MPI's package from PyPI sets it, so it may come from the job's mpirun. */
static int is_of_prefix(const char *path)
{
    const char *given = getenv("OPAL_PREFIX");
    char prefix[PATH_MAX], real[PATH_MAX];
    if (!given || !given[0])
        return 1;
    if (!realpath(given, prefix) || !realpath(path, real))
        return 0;
    const size_t length = strlen(prefix);
    return strncmp(real, prefix, length) == 0 && real[length] == '/';
}

static int is_usable(const char *path)
{
    return is_open_mpi(path) && is_of_prefix(path);
}

/* Finds an mpirun of Open MPI, because the merge is a program of Open MPI and uses the options of
 * its mpirun. This is the first mpirun in PATH; if that one belongs to another MPI, the mpirun with
 * which profwrap was built. Returns 0; or -ENOENT when PATH has no mpirun, or neither of the two is
 * of Open MPI and of the installation that OPAL_PREFIX names. */
static int find_mpirun(char *path, size_t size)
{
    if (pw_program_find("mpirun", path, (int)size))
        return -ENOENT;
    if (is_usable(path))
        return 0;
    snprintf(path, size, "%s", PROFWRAP_MPIEXEC);
    return access(path, X_OK) == 0 && is_usable(path) ? 0 : -ENOENT;
}

/* ---- the merge ---- */

/* PATIENCE_MS: how long to wait without any change while a rank is being written.
 * PATIENCE_UNSEEN_MS: how long to wait for ranks without any file. */
enum { PATIENCE_MS = 30000, PATIENCE_UNSEEN_MS = 3000, LOOK_MS = 20 };

enum { MAX_MERGE_PROCESSES = 8 };

static const char ANY_SIZE[] = "1000000G";

/* Variables by which mpirun, srun and PMIx identify this job. They are removed, because the merge's
 * mpirun would take them for its own. None of these names is a user's setting
 * (OMPI_ALLOW_RUN_AS_ROOT, OMPI_MCA_btl, ...). */
static const char *const launcher_variables[] = {
    "PMIX_",
    "PMI_",
    "HYDI_CONTROL_FD=",
    "MPI_LOCALNRANKS=",
    "MPI_LOCALRANKID=",
    "SLURM_",
    "OMPI_COMM_WORLD_",
    "OMPI_APP_CTX_NUM_PROCS=",
    "OMPI_COMMAND=",
    "OMPI_ARGV=",
    "OMPI_FILE_LOCATION=",
    "OMPI_FIRST_RANKS=",
    "OMPI_NUM_APP_CTX=",
    "OMPI_UNIVERSE_SIZE=",
    "OMPI_MCA_ess",
    "OMPI_MCA_initial_wdir=",
    "OMPI_MCA_mpi_oversubscribe=",
    "OMPI_MCA_pmix=",
    "OMPI_MCA_shmem_RUNTIME_QUERY_hint=",
    "OMPI_MCA_orte_app_num=",
    "OMPI_MCA_orte_fork_agent=", /* the agent is profwrap, and the merge must not be profiled */
    "OMPI_MCA_orte_bound_at_launch=",
    "OMPI_MCA_orte_ess_",
    "OMPI_MCA_orte_hnp_uri=",
    "OMPI_MCA_orte_jobfam_session_dir=",
    "OMPI_MCA_orte_launch=",
    "OMPI_MCA_orte_local_daemon_uri=",
    "OMPI_MCA_orte_num_nodes=",
    "OMPI_MCA_orte_precondition_transports=",
    "OMPI_MCA_orte_tmpdir_base=",
    "PRTE_MCA_prte_fork_agent=",
    "OMPI_MCA_orte_top_session_dir=",
};

extern char **environ;

static int belongs_to_launcher(const char *variable)
{
    for (size_t i = 0; i < sizeof(launcher_variables) / sizeof(launcher_variables[0]); i++)
        if (strncmp(variable, launcher_variables[i], strlen(launcher_variables[i])) == 0)
            return 1;
    return 0;
}

static void remove_launcher_variables(void)
{
    char **keep = environ;
    for (char **at = environ; *at; at++)
        if (!belongs_to_launcher(*at))
            *keep++ = *at;
    *keep = NULL;
}

/* What a look at the output directory finds. */
struct look {
    int ready;     /* rank files with their final names */
    int unready;   /* files of ranks that are being written: rank files and journals */
    int64_t bytes; /* size of the first SIZES_MOST files that are being written */
    int is_later;  /* a rank has failed: see pw_conclude_say_later() */
};

static const char later_name[] = ".report-later";

/* Sets `files` (NULL: not wanted) to what there is of each rank. Lists the directory once instead
 * of asking for each rank's files, because each question costs a round trip on a shared file
 * system. */
static void look_at(const char *dir, int ranks, int with_sizes, struct look *look, uint8_t *files)
{
    enum { SIZES_MOST = 64 };
    DIR *stream = opendir(dir);
    *look = (struct look){0};
    if (files)
        memset(files, PW_WAITED_NONE, (size_t)ranks);
    for (struct dirent *e = stream ? readdir(stream) : NULL; e; e = readdir(stream)) {
        struct stat st;
        char *suffix;
        look->is_later |= strcmp(e->d_name, later_name) == 0;
        if (strncmp(e->d_name, "rank-", 5) != 0)
            continue;
        const long rank = strtol(e->d_name + 5, &suffix, 10);
        if (suffix == e->d_name + 5 || rank < 0 || rank >= ranks)
            continue;
        const int is_closed = strcmp(suffix, ".h5") == 0;
        look->ready += is_closed;
        if (files && files[rank] != PW_WAITED_CLOSED)
            files[rank] = is_closed ? PW_WAITED_CLOSED : PW_WAITED_WRITTEN;
        if (strcmp(suffix, ".h5.part") != 0 && strcmp(suffix, ".journal") != 0)
            continue;
        if (with_sizes && look->unready < SIZES_MOST &&
            fstatat(dirfd(stream), e->d_name, &st, 0) == 0)
            look->bytes += st.st_size;
        look->unready++;
    }
    if (stream)
        closedir(stream);
}

/* How long to wait before the next look, when looking has taken `look_ms` and the wait has lasted
 * `waited_ms`: looks become rarer where they take long, and where the others run on. */
static int64_t pause_ms(int64_t look_ms, int64_t waited_ms)
{
    enum { LONGEST_MS = 500, SHARE = 32 };
    const int64_t longer = waited_ms / SHARE;
    return LOOK_MS + 4 * look_ms + (longer < LONGEST_MS ? longer : LONGEST_MS);
}

/* Waits until every rank's file has its final name. Returns the number of ranks that have one, or
 * -ECANCELED when asked to stop early, as pw_conclude() says. A rank whose collector lives or can
 * be replaced has a journal. While a file grows, its rank is not given up. */
static int await_files(const char *dir, int ranks, int is_launcher_waiting,
                       struct pw_waitline *line)
{
    enum { SIZES_MS = 1000 }; /* without another change, look at sizes, too */
    struct look last = {.ready = -1}, look;
    const int64_t first_ms = now_ms();
    int64_t changed_ms = first_ms;
    while (!pw_launch_end_requested()) {
        const int64_t begin_ms = now_ms(), quiet_ms = begin_ms - changed_ms;
        look_at(dir, ranks, quiet_ms > SIZES_MS, &look, line->files);
        if (look.is_later && is_launcher_waiting)
            return -ECANCELED;
        if (look.ready != last.ready || look.unready != last.unready ||
            (quiet_ms > SIZES_MS && look.bytes != last.bytes)) {
            changed_ms = now_ms();
            last = look;
        }
        if (look.ready >= ranks ||
            now_ms() - changed_ms > (look.unready ? PATIENCE_MS : PATIENCE_UNSEEN_MS))
            return look.ready;
        pw_waitline_show(line, begin_ms);
        const int64_t ms = pause_ms(now_ms() - begin_ms, begin_ms - first_ms);
        const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
        nanosleep(&pause, NULL);
    }
    return -ECANCELED;
}

static int merge_processes(int ranks)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int n = cores > 0 && cores < MAX_MERGE_PROCESSES ? (int)cores : MAX_MERGE_PROCESSES;
    return ranks < n ? ranks : n;
}

/* Passes the options for FLOPs, and the names of operators, to the merge. */
static void pass_options(const struct pw_options *options)
{
    setenv("PROFWRAP_MERGE_FP_POINT", options->text[PW_OPT_FP_POINT], 1);
    setenv("PROFWRAP_MERGE_BP_POINT", options->text[PW_OPT_BP_POINT], 1);
    setenv("PROFWRAP_MERGE_STEP_FLOPS", options->text[PW_OPT_STEP_FLOPS], 1);
    setenv("PROFWRAP_MERGE_PEAK_FLOPS", options->text[PW_OPT_PEAK_FLOPS], 1);
    setenv("PROFWRAP_MERGE_FLOPS_TYPE", options->text[PW_OPT_FLOPS_TYPE], 1);
}

/* Adds the program's folder to PATH, where Open MPI's mpirun looks for its daemon. */
static void put_into_path(const char *program)
{
    char path[8192];
    const char *before = getenv("PATH"), *slash = strrchr(program, '/');
    if (slash && snprintf(path, sizeof(path), "%.*s:%s", (int)(slash - program), program,
                          before ? before : "") < (int)sizeof(path))
        setenv("PATH", path, 1);
}

/* Executes the merge in the child. Its output goes to standard error, because standard output
 * belongs to the application. */
__attribute__((noreturn)) static void become_merge(const char *dir, int processes,
                                                   const struct pw_options *options)
{
    char self[4096], mpirun[4096], count[16], host[32], job[4096], number[16];
    int epoch = 0;
    dup2(STDERR_FILENO, STDOUT_FILENO);
    remove_launcher_variables();
    setenv("PROFWRAP_READ_MEMORY", ANY_SIZE, 0); /* the job's own files are trusted */
    if (pw_option_flag(options, PW_OPT_QUIET))
        setenv("PROFWRAP_MERGE_QUIET", "1", 1);
    pass_options(options);
    pw_epochdir_split(dir, job, sizeof(job), &epoch);
    snprintf(number, sizeof(number), "%d", epoch);
    snprintf(count, sizeof(count), "%d", processes);
    snprintf(host, sizeof(host), "localhost:%d", processes);
    if (pw_cli_self(self, sizeof(self)) == 0) {
        if (processes > 1 && pw_cli_merges_in_parallel() &&
            find_mpirun(mpirun, sizeof(mpirun)) == 0) {
            put_into_path(mpirun);
            execl(mpirun, mpirun, "--host", host, "--oversubscribe", "--bind-to", "none", "-np",
                  count, self, "merge", "--epoch", number, dir, (char *)NULL);
        }
        execl(self, self, "merge", "--epoch", number, dir, (char *)NULL);
    }
    _exit(127);
}

/* Whether mpirun would refuse to run as root: it needs both variables. */
static int refuses_root(void)
{
    return geteuid() == 0 &&
           !(getenv("OMPI_ALLOW_RUN_AS_ROOT") && getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"));
}

/* Whether mpirun has too few descriptors for its pipes: then it waits for ever. Open MPI 4.1 takes
 * 33 to 36 for two processes, and 49 to 64 for eight. */
static int lacks_descriptors(int processes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
           limit.rlim_cur < (rlim_t)32 + 8 * (rlim_t)processes;
}

static void later_path(const char *dir, char path[4200])
{
    snprintf(path, 4200, "%s/%s", dir, later_name);
}

void pw_conclude_say_later(const char *dir)
{
    char path[4200];
    later_path(dir, path);
    /* Of several processes, one creates the link. */
    if (symlink("1", path) == 0 || errno != EEXIST)
        pw_say(
            "the report on this job is being made and will be in %s/report.txt; 'profwrap report "
            "%s' waits for it and shows its summary",
            dir, dir);
}

void pw_conclude_forget_later(const char *dir)
{
    char path[4200];
    later_path(dir, path);
    unlink(path);
}

/* Ends the merge when the job is asked to end. */
static int run_processes(const char *dir, int processes, const struct pw_options *options)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    pid_t pid = fork(), done = 0;
    if (pid == 0)
        become_merge(dir, processes, options);
    int status = 0;
    while (pid > 0 && (done = waitpid(pid, &status, WNOHANG)) == 0 && !pw_launch_end_requested())
        nanosleep(&pause, NULL);
    if (pid > 0 && done == 0) {
        kill(pid, SIGTERM);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* Merges under mpirun where that is possible, else in one process. The merge writes into a file in
 * memory when it has started. When it has not, mpirun has failed: it may not find a place for its
 * files, or a part of MPI. */
static int run_merge(const char *dir, int processes, const struct pw_options *options)
{
    char path[64];
    struct stat started = {.st_size = 0};
    if (processes == 1 || refuses_root() || lacks_descriptors(processes))
        return run_processes(dir, 1, options);
    const int file = memfd_create("profwrap-merge", MFD_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), file);
    if (file >= 0)
        setenv(PW_MERGE_STARTED, path, 1);
    int err = run_processes(dir, processes, options);
    const int can_retry =
        err && file >= 0 && fstat(file, &started) == 0 && !pw_launch_end_requested();
    unsetenv(PW_MERGE_STARTED);
    if (file >= 0)
        close(file);
    if (!can_retry || started.st_size)
        return err;
    pw_say("mpirun could not start the merge: it runs in one process");
    return run_processes(dir, 1, options);
}

/* Waits for the files, and makes those of killed collectors. Returns as await_files(). */
static int gather(const char *dir, int ranks, int is_launcher_waiting, const char *terminal)
{
    struct pw_waitline line;
    pw_waitline_begin(&line, terminal, ranks, now_ms());
    int ready = await_files(dir, ranks, is_launcher_waiting, &line);
    pw_waitline_end(&line);
    if (ready >= 0 && ready < ranks) {
        struct pw_recovery found;
        pw_h5_quiet();
        if (pw_cli_recover_all(dir, 0, &found) == 0)
            ready += found.recovered;
    }
    if (ready >= 0 && ready < ranks)
        pw_say("only %d of %d rank files are complete; merging what is there", ready, ranks);
    return ready;
}

/* --report on the command line wins over the older flags, which a site may have set as variables.
 */
static enum pw_cli_shown what_to_show(const struct pw_options *options)
{
    static const struct {
        const char *word;
        enum pw_cli_shown shown;
    } words[] = {{"full", PW_SHOWN_FULL}, {"summary", PW_SHOWN_SUMMARY}, {"line", PW_SHOWN_LINE}};
    const int is_said = options->origin[PW_OPT_REPORT] == PW_OPTION_COMMAND_LINE;
    if (pw_option_flag(options, PW_OPT_QUIET) ||
        (!is_said && pw_option_flag(options, PW_OPT_NO_REPORT)))
        return PW_SHOWN_NONE;
    if (!is_said && pw_option_flag(options, PW_OPT_SUMMARY))
        return PW_SHOWN_LINE;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].word, options->text[PW_OPT_REPORT]) == 0)
            return words[i].shown;
    return PW_SHOWN_NONE;
}

int pw_conclude(const char *dir, int ranks, const struct pw_options *options,
                int is_launcher_waiting)
{
    if (pw_option_flag(options, PW_OPT_TRUST_DIRECTORY))
        setenv("PROFWRAP_TRUST_DIRECTORY", "1", 1); /* the run has checked the directory; the merge
                                                     * need not */
    char terminal[PATH_MAX] = "";
    if (!pw_option_flag(options, PW_OPT_QUIET))
        pw_waitline_terminal(terminal, sizeof(terminal), is_launcher_waiting);
    const int ready = gather(dir, ranks, is_launcher_waiting, terminal);
    if (ready <= 0)
        return ready;
    setenv(PW_PROGRESS_TERMINAL, terminal, 1);
    const int err = run_merge(dir, merge_processes(ranks), options);
    if (pw_launch_end_requested())
        return -ECANCELED;
    if (err) {
        pw_error("the merge failed; try 'profwrap merge %s'", dir);
        return 0;
    }
    pw_cli_report_write(dir, stderr, what_to_show(options));
    return 0;
}

/* ---- what ended each epoch of a job whose launcher restarted its ranks ---- */

/* Whether the times of all epochs before the last are known. */
static int are_known(const struct pw_row_c_epoch *rows, size_t n, int last)
{
    for (size_t i = 0; i < n && rows[i].epoch < last; i++)
        if (rows[i].restart_ns < 0)
            return 0;
    return 1;
}

/* Reads the epochs. A launcher ends before the collectors of ranks that failed have closed their
 * files: without them the times are not known, so the files are waited for. */
static int read_epochs(const char *dir, int last, struct pw_row_c_epoch **rows, size_t *n)
{
    enum { TRIES = 20 };
    const struct timespec pause = {.tv_nsec = 100000000};
    int err = pw_epochs_read(dir, rows, n);
    for (int i = 0; i < TRIES && !err && !are_known(*rows, *n, last); i++) {
        free(*rows);
        nanosleep(&pause, NULL);
        err = pw_epochs_read(dir, rows, n);
    }
    return err;
}

void pw_conclude_epochs(const char *dir, int last)
{
    char end[200];
    struct pw_row_c_epoch *rows;
    size_t n;
    pw_h5_quiet();
    if (read_epochs(dir, last, &rows, &n))
        return;
    for (size_t i = 0; i < n && rows[i].epoch < last; i++) {
        pw_words_epoch_end(&rows[i], end, sizeof(end));
        if (rows[i].restart_ns < 0)
            pw_say("epoch %d %s", rows[i].epoch, end);
        else
            pw_say("epoch %d ran for %.1f s and %s; the restart took %.1f s", rows[i].epoch,
                   (double)rows[i].ran_ns / 1e9, end, (double)rows[i].restart_ns / 1e9);
    }
    free(rows);
}
