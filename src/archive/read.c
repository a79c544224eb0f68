/* Opens the archive, and makes the file of one rank after another; see read.h. */
#include "archive/read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/errors.h"
#include "core/readlimit.h"

enum { MOST_NAMES = 96 << 20 };

int pw_otf2_open(const struct pw_otf2_wish *wish, struct pw_otf2_archive *archive,
                 struct pw_otf2_taken *result)
{
    uint64_t id = 0;
    *result = (struct pw_otf2_taken){0};
    pw_otf2_errors_catch();
    const int err = pw_otf2_load(wish->path, archive);
    if (err) {
        const char *why = pw_otf2_error();
        snprintf(result->problem, sizeof(result->problem),
                 "'%.250s' is no OTF2 archive that can be read: %s", wish->path,
                 err == -ENOMEM ? "out of memory"
                 : why[0]       ? why
                                : "it has no processes");
        return err;
    }
    OTF2_Reader_GetTraceId(archive->reader, &id);
    snprintf(result->job, sizeof(result->job), "otf2-%016" PRIx64, id);
    return 0;
}

/* Clocks: an archive of ours has one. Processes on one host read the same clock, but EZTrace counts
 * from the start of each. Others' archives may have corrected times: the merge finds what is left.
 */
static int create_file(struct pw_otf2_events *e, const struct pw_otf2_wish *wish,
                       const struct pw_otf2_taken *result)
{
    const struct pw_otf2_archive *archive = e->archive;
    const char *host = pw_otf2_hostname(archive, e->rank);
    struct pw_identity id = {.rank = (int)e->rank, .size = (int)archive->nranks, .launched = 1};
    char command[300];
    snprintf(id.job, sizeof(id.job), "%s", result->job);
    snprintf(id.hostname, sizeof(id.hostname), "%.63s", host);
    if (archive->is_ours)
        snprintf(id.clock_domain, sizeof(id.clock_domain), "import %s", result->job);
    else if (archive->is_eztrace || !host[0])
        snprintf(id.clock_domain, sizeof(id.clock_domain), "import rank %d", id.rank);
    else
        snprintf(id.clock_domain, sizeof(id.clock_domain), "import %.100s", host);
    snprintf(command, sizeof(command), "import of an OTF2 archive of %.60s: %.200s",
             archive->creator[0] ? archive->creator : "an unknown tool", wish->path);
    const int err = pw_rankfile_create(wish->dir, &id, command, wish->level, &e->file);
    if (err)
        return err;
    pw_rankfile_borrow_budget(e->file)->limit_bytes = MOST_NAMES;
    pw_rankfile_set_text(e->file, "clock_sync", "passive");
    return 0;
}

/* Reads the rank's threads. Other locations are counted. */
static int read_locations(struct pw_otf2_events *e, struct pw_otf2_taken *result)
{
    const struct pw_otf2_table *locations = &e->archive->locations;
    for (size_t i = 0; i < locations->n; i++) {
        const struct pw_otf2_known_location *l =
            (const void *)(locations->rows + i * locations->size);
        if (l->rank != e->rank)
            continue;
        if (l->type != OTF2_LOCATION_TYPE_CPU_THREAD) {
            e->counts.lacks[PW_OTF2_LACK_DEVICE]++;
            continue;
        }
        const int err = pw_otf2_events_read(e, l);
        if (err && err != -EINVAL)
            return err;
        result->damaged += err != 0;
        result->locations++;
    }
    return 0;
}

static void finish(struct pw_otf2_events *e)
{
    const int64_t since =
        e->archive->since != OTF2_UNDEFINED_TIMESTAMP && e->archive->since < (uint64_t)INT64_MAX
            ? (int64_t)e->archive->since
            : 0;
    const int64_t length = e->last_ns > e->first_ns ? e->last_ns - e->first_ns : 0;
    pw_rankfile_set_times(e->file, since, since + length);
}

static void add_counts(struct pw_otf2_counts *sum, const struct pw_otf2_counts *one)
{
    sum->events += one->events;
    sum->calls += one->calls;
    sum->ranges += one->ranges;
    for (int i = 0; i < PW_OTF2_LACKS; i++)
        sum->lacks[i] += one->lacks[i];
}

static int take_rank(struct pw_otf2_archive *archive, const struct pw_otf2_wish *wish, int64_t rank,
                     struct pw_otf2_taken *result)
{
    struct pw_otf2_events e = {.archive = archive, .rank = rank};
    const int64_t damaged = result->damaged;
    char path[4200];
    int err = create_file(&e, wish, result);
    err = err ? err : pw_otf2_events_create(&e, wish->dir);
    err = err ? err : read_locations(&e, result);
    err = err ? err : pw_otf2_events_write(&e, wish->dir);
    if (e.file) {
        const struct pw_rankfile_end end = {
            .exit_code = -1, .complete = !err && result->damaged == damaged, .pid = -1};
        finish(&e);
        const int closed = pw_rankfile_close(e.file, &end);
        err = err ? err : closed;
    }
    if (err) { /* removes a half-written file */
        snprintf(path, sizeof(path), "%s/rank-%05d.h5", wish->dir, (int)rank);
        unlink(path);
        strcat(path, ".part");
        unlink(path);
    }
    add_counts(&result->counts, &e.counts);
    pw_otf2_events_destroy(&e);
    return err;
}

int pw_otf2_take_all(struct pw_otf2_archive *archive, const struct pw_otf2_wish *wish,
                     struct pw_otf2_taken *result)
{
    const struct pw_otf2_table *locations = &archive->locations;
    for (size_t i = 0; i < locations->n; i++)
        OTF2_Reader_SelectLocation(
            archive->reader,
            ((const struct pw_otf2_known_location *)(const void *)(locations->rows +
                                                                   i * locations->size))
                ->ref);
    OTF2_Reader_OpenDefFiles(archive->reader); /* an archive may have none */
    int err = OTF2_Reader_OpenEvtFiles(archive->reader) == OTF2_SUCCESS ? 0 : -EINVAL;
    for (int64_t rank = 0; rank < archive->nranks && !err; rank++) {
        err = take_rank(archive, wish, rank, result);
        result->ranks += !err;
    }
    if (err)
        snprintf(result->problem, sizeof(result->problem), "'%.250s' cannot be imported: %s",
                 wish->path,
                 err == -EEXIST ? "a rank's file already exists in the directory"
                 : err == -EINVAL && pw_otf2_error()[0] ? pw_otf2_error()
                                                        : pw_readlimit_error(err));
    return err;
}
