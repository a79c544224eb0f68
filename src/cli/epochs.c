/* What ended the epochs of a job whose launcher started its ranks anew; see conclude.h. */
#include "cli/conclude.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"
#include "core/limits.h"
#include "core/log.h"

/* How a rank ended. */
struct ending {
    int rank, code, signal;
    int64_t start_ns, end_ns; /* since 1970 */
    int64_t ranks;            /* of its job */
};

struct epoch {
    int files;
    int64_t ranks;
    int64_t start_ns, end_ns; /* of the first rank to begin, and of the last to end; -1 unknown */
    struct ending first;      /* the first rank that failed by itself; -1 for none */
};

static int64_t attribute(hid_t file, const char *name)
{
    int64_t value = -1;
    return pw_h5_get_int(file, name, &value) || !pw_is_possible(value) ? -1 : value;
}

static int read_ending(const char *dir, int rank, struct ending *out)
{
    char path[4300];
    hid_t file;
    snprintf(path, sizeof(path), "%s/rank-%05d.h5", dir, rank);
    if (pw_h5_open(path, &file))
        return -1;
    *out = (struct ending){.rank = rank,
                           .code = (int)attribute(file, "exit_code"),
                           .signal = (int)attribute(file, "exit_signal"),
                           .start_ns = attribute(file, "start_unix_ns"),
                           .end_ns = attribute(file, "end_unix_ns"),
                           .ranks = attribute(file, "world_size")};
    pw_h5_close(file);
    return 0;
}

/* A launcher ends the ranks that did not fail by SIGTERM. */
static int failed_by_itself(const struct ending *end)
{
    return end->code > 0 || (end->signal > 0 && end->signal != SIGTERM);
}

static void add_rank(struct epoch *epoch, const struct ending *end)
{
    epoch->files++;
    if (end->ranks > epoch->ranks)
        epoch->ranks = end->ranks;
    if (end->start_ns >= 0 && (epoch->start_ns < 0 || end->start_ns < epoch->start_ns))
        epoch->start_ns = end->start_ns;
    if (end->end_ns > epoch->end_ns)
        epoch->end_ns = end->end_ns;
    if (failed_by_itself(end) && (epoch->first.rank < 0 || end->end_ns < epoch->first.end_ns))
        epoch->first = *end;
}

/* Reads the ranks that have files: missing ones are skipped, as long as the others say there are
 * more. */
static void read_epoch(const char *dir, struct epoch *out)
{
    enum { MOST_RANKS = 4096, MOST_MISSING = 64 };
    struct ending end;
    int missing = 0;
    *out = (struct epoch){.start_ns = -1, .end_ns = -1, .first = {.rank = -1}};
    for (int rank = 0; rank < MOST_RANKS && missing < MOST_MISSING; rank++) {
        if (out->ranks && rank >= out->ranks)
            break;
        if (read_ending(dir, rank, &end))
            missing++;
        else
            add_rank(out, &end);
    }
}

static void epoch_dir(const char *dir, int epoch, char *out, size_t size)
{
    if (epoch)
        snprintf(out, size, "%s/epoch-%d", dir, epoch);
    else
        snprintf(out, size, "%s", dir);
}

static void describe_end(const struct epoch *epoch, char *out, size_t size)
{
    const struct ending *first = &epoch->first;
    if (!epoch->files)
        snprintf(out, size, "left no files");
    else if (first->rank >= 0 && first->signal > 0)
        snprintf(out, size, "ended when rank %d was killed by signal %d (%s)", first->rank,
                 first->signal, strsignal(first->signal));
    else if (first->rank >= 0)
        snprintf(out, size, "ended when rank %d exited with status %d", first->rank, first->code);
    else if (epoch->files < epoch->ranks)
        snprintf(out, size, "ended, and %d of its %d ranks left no file",
                 (int)epoch->ranks - epoch->files, (int)epoch->ranks);
    else
        snprintf(out, size, "was ended by its launcher");
}

void pw_conclude_epochs(const char *dir, int last)
{
    char path[4200], end[200];
    struct epoch epoch, next;
    pw_h5_quiet();
    read_epoch(dir, &epoch);
    for (int i = 0; i < last; i++, epoch = next) {
        epoch_dir(dir, i + 1, path, sizeof(path));
        read_epoch(path, &next);
        describe_end(&epoch, end, sizeof(end));
        if (epoch.end_ns < 0 || next.start_ns < 0) {
            pw_say("epoch %d %s", i, end);
            continue;
        }
        const int64_t failed_ns = epoch.first.rank >= 0 ? epoch.first.end_ns : epoch.end_ns;
        pw_say("epoch %d ran for %.1f s and %s; the restart took %.1f s", i,
               (double)(failed_ns - epoch.start_ns) / 1e9, end,
               (double)(next.start_ns - failed_ns) / 1e9);
    }
}
