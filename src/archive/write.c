/* Opens the archive, writes rank after rank, and then the definitions; see write.h. Memory does not
 * grow with the number of events: rows are sorted in a temporary file, and OTF2's buffers are
 * written whenever they are full. */
#include "archive/write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/errors.h"
#include "archive/rankout.h"
#include "core/limits.h"
#include "timeline/timeline.h"

struct writer {
    const struct pw_cluster *cluster;
    const struct pw_otf2_options *options;
    struct pw_otf2_result *result;
    struct pw_otf2_defs defs;
    struct pw_clockmaps maps;
    OTF2_Archive *archive;
    int64_t from, until;
};

static OTF2_FlushType flush_full_buffers(void *data, OTF2_FileType type, OTF2_LocationRef location,
                                         void *caller, bool is_last)
{
    (void)data, (void)type, (void)location, (void)caller, (void)is_last;
    return OTF2_FLUSH;
}

/* Makes the directory and the archive in it. */
static int open_archive(struct writer *w)
{
    static const OTF2_FlushCallbacks flush = {flush_full_buffers, NULL};
    struct pw_otf2_result *result = w->result;
    const char *dir = w->options->archive;
    char path[4200];
    snprintf(path, sizeof(path), "%s/traces.otf2", dir);
    if (access(path, F_OK) == 0) {
        snprintf(result->problem, sizeof(result->problem),
                 "'%.400s' already exists: give another directory", path);
        return -EEXIST;
    }
    if (mkdir(dir, 0777) && errno != EEXIST) {
        const int err = errno;
        snprintf(result->problem, sizeof(result->problem), "cannot make the directory '%.400s': %s",
                 dir, strerror(err));
        return -err;
    }
    w->archive = OTF2_Archive_Open(
        dir, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
        OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!w->archive || OTF2_Archive_SetFlushCallbacks(w->archive, &flush, NULL) != OTF2_SUCCESS ||
        OTF2_Archive_SetSerialCollectiveCallbacks(w->archive) != OTF2_SUCCESS ||
        OTF2_Archive_OpenEvtFiles(w->archive) != OTF2_SUCCESS)
        return -EIO;
    OTF2_Archive_SetCreator(w->archive, "profwrap " PROFWRAP_VERSION);
    OTF2_Archive_SetDescription(w->archive, w->cluster->command);
    OTF2_Archive_SetProperty(w->archive, PW_OTF2_VERSION_PROPERTY, PROFWRAP_VERSION, true);
    return 0;
}

/* Adds the location group of each rank first, so that its number is the rank. */
static void add_groups(struct writer *w)
{
    for (size_t i = 0; i < w->cluster->nrank_rows; i++) {
        const struct pw_row_c_rank *rank = &w->cluster->ranks[i];
        char name[48], host[65];
        snprintf(name, sizeof(name), "MPI Rank %d", rank->rank);
        snprintf(host, sizeof(host), "%.64s", rank->hostname[0] ? rank->hostname : "unknown host");
        const struct pw_otf2_group group = {
            .name = pw_otf2_string(&w->defs, name),
            .host = pw_otf2_host(&w->defs, host),
            .creator = OTF2_UNDEFINED_LOCATION_GROUP,
            .type = OTF2_LOCATION_GROUP_TYPE_PROCESS,
            .clock_error_ns = rank->present ? rank->clock_error_ns : -1,
        };
        pw_otf2_add_group(&w->defs, &group);
    }
}

/* Adds the location of a rank that has no file, or is not wanted: groups of communicators need
 * it. */
static int add_empty(struct writer *w, uint32_t i)
{
    const uint64_t ref = pw_otf2_location_ref(i, 0);
    const struct pw_otf2_location location = {ref, 0, pw_otf2_string(&w->defs, "thread 0"), i,
                                              OTF2_LOCATION_TYPE_CPU_THREAD};
    OTF2_EvtWriter *out = OTF2_Archive_GetEvtWriter(w->archive, ref);
    pw_otf2_add_location(&w->defs, &location);
    return out && OTF2_Archive_CloseEvtWriter(w->archive, out) == OTF2_SUCCESS ? 0 : -EIO;
}

/* Keeps when the map of the rank's clock was measured, and the bounds of its error. A rank whose
 * clock is the cluster's has one for the whole run. */
static void add_clocks(struct writer *w, uint32_t i, const struct pw_rankview *view)
{
    int64_t last = -1;
    for (size_t k = 0; k < view->nknots; k++) {
        const struct pw_row_clock *knot = &view->knots[k];
        const int64_t time = pw_sum(knot->local_ns, knot->offset_ns);
        if (time <= last || time > PW_LIMIT)
            continue;
        last = time;
        const struct pw_otf2_clock clock = {i, (uint64_t)time, knot->error_ns};
        pw_otf2_add_clock(&w->defs, &clock);
    }
    const struct pw_otf2_clock whole = {i, 0, w->cluster->ranks[i].clock_error_ns};
    if (last < 0 && whole.error_ns >= 0)
        pw_otf2_add_clock(&w->defs, &whole);
}

static int write_rank(struct writer *w, uint32_t i, const struct pw_rankview *view)
{
    struct pw_otf2_rank rank = {
        .defs = &w->defs,
        .view = view,
        .nranks = (int64_t)w->cluster->nrank_rows,
        .from = w->from,
        .until = w->until,
        .group = i,
    };
    int err = pw_otf2_rank_create(&rank, w->options->archive);
    if (!err) {
        pw_otf2_take(&rank);
        err = rank.err ? rank.err : pw_otf2_rank_write(&rank, w->archive);
    }
    w->result->events += rank.events;
    w->result->shortened += rank.shortened;
    w->result->left_out += rank.left_out;
    w->result->unread += rank.unread;
    pw_otf2_rank_destroy(&rank);
    return err ? err : w->defs.err;
}

static int write_ranks(struct writer *w, const char *wanted)
{
    int err = 0;
    for (size_t i = 0; i < w->cluster->nrank_rows && !err; i++) {
        const struct pw_row_c_rank *rank = &w->cluster->ranks[i];
        struct pw_rankview view;
        const int opened = wanted[i] && rank->present
                               ? pw_rankview_open(w->options->dir, rank->rank, &w->maps, &view)
                               : -ENOENT;
        if (opened) {
            w->result->unread += wanted[i] && rank->present;
            err = add_empty(w, (uint32_t)i);
            continue;
        }
        add_clocks(w, (uint32_t)i, &view);
        err = write_rank(w, (uint32_t)i, &view);
        pw_rankview_close(&view);
        w->result->ranks++;
    }
    if (!err && !w->result->ranks) {
        snprintf(w->result->problem, sizeof(w->result->problem),
                 "there are no rank files in '%.400s', from which an archive is made: put them "
                 "beside cluster.h5",
                 w->options->dir);
        err = -ENOENT;
    }
    return err;
}

/* Writes the clock of a location's rank, whose clocks begin at `clock`. Times are those of the
 * cluster clock, so the offsets are 0, and only the errors differ. */
static OTF2_ErrorCode write_clock(const struct writer *w, const struct pw_otf2_location *location,
                                  const struct pw_otf2_clock *clock)
{
    const struct pw_otf2_clock *end = w->defs.clocks + w->defs.nclocks;
    OTF2_DefWriter *out = OTF2_Archive_GetDefWriter(w->archive, location->ref);
    OTF2_ErrorCode code = out ? OTF2_SUCCESS : OTF2_ERROR_MEM_ALLOC_FAILED;
    for (; clock < end && clock->rank == (uint32_t)location->ref && code == OTF2_SUCCESS; clock++)
        code = OTF2_DefWriter_WriteClockOffset(out, clock->time, 0, (double)clock->error_ns);
    return code == OTF2_SUCCESS ? OTF2_Archive_CloseDefWriter(w->archive, out) : code;
}

/* Local definitions have only what differs between locations: their clocks. */
static OTF2_ErrorCode write_local_definitions(struct writer *w)
{
    OTF2_ErrorCode code = OTF2_Archive_OpenDefFiles(w->archive);
    size_t first = 0; /* the first clock of the location's rank */
    for (size_t i = 0; i < w->defs.nlocations && code == OTF2_SUCCESS; i++) {
        const struct pw_otf2_location *location = &w->defs.locations[i];
        while (first < w->defs.nclocks && w->defs.clocks[first].rank < (uint32_t)location->ref)
            first++;
        code = write_clock(w, location, w->defs.clocks + first);
    }
    return code == OTF2_SUCCESS ? OTF2_Archive_CloseDefFiles(w->archive) : code;
}

static int write_archive(struct writer *w, const char *wanted)
{
    int err = open_archive(w);
    if (err)
        return err;
    add_groups(w);
    err = write_ranks(w, wanted);
    if (!err && (OTF2_Archive_CloseEvtFiles(w->archive) != OTF2_SUCCESS ||
                 write_local_definitions(w) != OTF2_SUCCESS ||
                 pw_otf2_defs_write(&w->defs, w->archive, w->cluster, w->cluster->nrank_rows) !=
                     OTF2_SUCCESS))
        err = w->defs.err ? w->defs.err : -EIO;
    w->result->locations = (int64_t)w->defs.nlocations;
    return err;
}

/* Sets the part of the run to write. Returns 0 or -EINVAL. */
static int find_span(struct writer *w)
{
    const struct pw_cluster *cluster = w->cluster;
    w->from = INT64_MIN;
    w->until = INT64_MAX;
    if (!w->options->only_steps)
        return 0;
    w->from = INT64_MAX;
    w->until = INT64_MIN;
    for (size_t i = 0; i < cluster->nstep_rows; i++) {
        w->from = cluster->steps[i].start < w->from ? cluster->steps[i].start : w->from;
        w->until = cluster->steps[i].end > w->until ? cluster->steps[i].end : w->until;
    }
    if (w->from < w->until)
        return 0;
    snprintf(w->result->problem, sizeof(w->result->problem),
             "the run has no steps whose times are known: leave out --steps");
    return -EINVAL;
}

/* Closes the archive. One that was not written to its end gets no traces.otf2. */
static int close_archive(struct writer *w, int err)
{
    char path[4200];
    if (!w->archive)
        return err;
    if (OTF2_Archive_Close(w->archive) != OTF2_SUCCESS && !err)
        err = -EIO;
    snprintf(path, sizeof(path), "%s/traces.otf2", w->options->archive);
    if (err)
        unlink(path);
    return err;
}

int pw_otf2_write(const struct pw_cluster *cluster, const struct pw_otf2_options *options,
                  struct pw_otf2_result *result)
{
    struct writer w = {.cluster = cluster, .options = options, .result = result};
    *result = (struct pw_otf2_result){0};
    w.defs.first = INT64_MAX;
    w.defs.last = INT64_MIN;
    int err = find_span(&w);
    if (err)
        return err;
    pw_otf2_errors_catch();
    char *wanted = pw_ranklist_parse(options->ranks, cluster->nrank_rows, result->problem,
                                     sizeof(result->problem));
    if (!wanted)
        return result->problem[0] ? -EINVAL : -ENOMEM;
    err = pw_clockmaps_load(options->cluster_file, &w.maps);
    err = err ? err : write_archive(&w, wanted);
    err = close_archive(&w, err);
    if (err && !result->problem[0])
        snprintf(result->problem, sizeof(result->problem), "cannot write '%.300s': %s",
                 options->archive,
                 err == -EIO && pw_otf2_error()[0] ? pw_otf2_error() : strerror(-err));
    pw_clockmaps_fini(&w.maps);
    pw_otf2_defs_fini(&w.defs);
    free(wanted);
    return err;
}
