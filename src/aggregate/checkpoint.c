/* Writes and reads one file for each process: a header that identifies the merge, then the data.
 * One list of the data serves both directions; see checkpoint.h. */
#include "aggregate/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/input/events.h"
#include "core/hash.h"

/* A job with fewer events gets no checkpoint. */
enum { LEAST_EVENTS = 100000 };
/* Incremented when the meaning of the data changes. */
enum { CHECKPOINT_VERSION = 3 };

struct header {
    char magic[8];
    uint64_t fingerprint;
    int64_t process, processes, version;
    int64_t size; /* of the whole file, bytes */
};

/* A file that is read or written, by the same functions. */
struct stream {
    FILE *file;
    int writes, failed;
    size_t size; /* bytes of a file that is read: a limit for its arrays */
};

static void file_name(char *path, size_t size, const char *output, const struct pw_procs *procs)
{
    snprintf(path, size, "%s.matched-%d-of-%d", output, procs->process, procs->processes);
}

/* ---- which merge a file belongs to ---- */

static uint64_t mix_all(uint64_t hash, const int64_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = pw_hash_mix(hash, (uint64_t)numbers[i]);
    return hash;
}

/* A hash that identifies this build of the merge and the rank files. */
static uint64_t fingerprint(const struct pw_job *job)
{
    const int64_t program[] = {sizeof(struct pw_instance),
                               sizeof(struct pw_pair),
                               sizeof(struct pw_message_wait),
                               sizeof(struct pw_graph_link),
                               sizeof(struct pw_graph_flow),
                               sizeof(struct pw_row_c_rank),
                               sizeof(struct pw_row_c_clock),
                               sizeof(struct pw_row_clock),
                               sizeof(struct pw_row_c_completeness),
                               sizeof(struct pw_row_c_clock_knot),
                               job->world.nranks,
                               job->world.infer_clocks};
    uint64_t hash = mix_all(0, program, sizeof(program) / sizeof(*program));
    for (size_t i = 0; i < job->ninputs; i++) {
        const struct pw_input *input = &job->inputs[i];
        struct stat s = {0};
        if (input->fd < 0 || fstat(input->fd, &s))
            stat(input->path, &s);
        const int64_t file[] = {input->rank, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
        hash = mix_all(hash, file, sizeof(file) / sizeof(*file));
    }
    return hash;
}

static struct header make_header(const struct pw_job *job)
{
    return (struct header){
        .magic = "pwmatch",
        .fingerprint = fingerprint(job),
        .process = job->procs.process,
        .processes = job->procs.processes,
        .version = CHECKPOINT_VERSION,
    };
}

/* ---- the data ---- */

static void pass(struct stream *s, void *bytes, size_t n)
{
    if (s->failed || n == 0)
        return;
    size_t done = s->writes ? fwrite(bytes, 1, n, s->file) : fread(bytes, 1, n, s->file);
    s->failed = done != n;
}

/* Reads or writes an array with its length. Reading replaces the previous array. */
static void pass_array(struct stream *s, void **v, size_t *n, size_t size)
{
    uint64_t count = *n;
    s->failed |= s->writes && count && !*v;
    pass(s, &count, sizeof(count));
    if (!s->writes && !s->failed) {
        void *fresh = count <= s->size / size ? malloc((size_t)count * size + 1) : NULL;
        s->failed = fresh == NULL;
        if (s->failed)
            return;
        free(*v);
        *v = fresh;
        *n = (size_t)count;
    }
    pass(s, *v, *n * size);
}

/* The same for an array whose length is known from the inputs: a file with another length is
 * damaged. */
static void pass_fixed(struct stream *s, void **v, size_t n, size_t size)
{
    size_t count = n;
    pass_array(s, v, &count, size);
    s->failed |= count != n;
}

#define PASS(s, value) pass(s, &(value), sizeof(value))
#define PASS_ARRAY(s, v, n)                        \
    do {                                           \
        void *array = (v);                         \
        pass_array(s, &array, &(n), sizeof(*(v))); \
        (v) = array;                               \
    } while (0)

#define PASS_FIXED(s, v, n)                     \
    do {                                        \
        void *array = (v);                      \
        pass_fixed(s, &array, n, sizeof(*(v))); \
        (v) = array;                            \
    } while (0)

static void pass_input(struct stream *s, struct pw_input *input)
{
    PASS(s, input->domain);
    PASS(s, input->aligned);
    PASS(s, input->messages);
    PASS(s, input->communicates);
    PASS(s, input->device_ops);
    PASS_ARRAY(s, input->knots, input->nknots);
    PASS_FIXED(s, input->starts_after, pw_events_blocks(input) + 1);
}

static void pass_items(struct stream *s, struct pw_graph_items *items)
{
    void *v = items->v;
    pass_array(s, &v, &items->n, items->size);
    items->v = v;
    items->capacity = items->n;
}

static void pass_all(struct stream *s, struct pw_job *job, struct pw_matched *m)
{
    const size_t ranks = (size_t)job->world.nranks;
    PASS(s, job->world.epoch_ns);
    PASS(s, job->world.clock_error_max_ns);
    PASS_FIXED(s, job->world.ranks, ranks);
    PASS_ARRAY(s, job->notes, job->nnotes);
    for (size_t i = 0; i < job->ninputs; i++)
        pass_input(s, &job->inputs[i]);
    PASS_FIXED(s, m->instances.items, m->instances.n);
    PASS_FIXED(s, m->clocks.ranks, ranks);
    PASS_ARRAY(s, m->clocks.knots, m->clocks.nknots);
    PASS_ARRAY(s, m->messages.pairs, m->messages.npairs);
    PASS_ARRAY(s, m->messages.waits, m->messages.nwaits);
    PASS(s, m->messages.unmatched);
    PASS(s, m->parts.nsteps);
    PASS(s, m->parts.until_ns);
    pass_items(s, &m->parts.links);
    pass_items(s, &m->parts.flows);
}

/* ---- saving and loading ---- */

static int is_long(const struct pw_world *world)
{
    int64_t events = 0;
    for (int64_t r = 0; r < world->nranks; r++)
        events += world->ranks[r].events;
    return events >= LEAST_EVENTS;
}

void pw_checkpoint_save(const char *output, struct pw_job *job, struct pw_matched *matched)
{
    char path[4352], part[4360];
    struct header header = make_header(job);
    if (!is_long(&job->world))
        return;
    file_name(path, sizeof(path), output, &job->procs);
    snprintf(part, sizeof(part), "%s.part", path);
    unlink(part);
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stream s = {.file = fd >= 0 ? fdopen(fd, "w") : NULL, .writes = 1};
    if (!s.file)
        return;
    PASS(&s, header);
    pass_all(&s, job, matched);
    header.size = ftell(s.file);
    s.failed |= fseek(s.file, 0, SEEK_SET) != 0;
    PASS(&s, header);
    if (fclose(s.file) || s.failed || rename(part, path))
        unlink(part);
}

/* 1 when the file is this user's, complete, and of the same inputs. Only then may loading change
 * the job. */
static int fits(struct stream *s, const struct pw_job *job)
{
    struct header header, wanted = make_header(job);
    struct stat about;
    if (!s->file || fstat(fileno(s->file), &about) || about.st_uid != geteuid() ||
        fread(&header, sizeof(header), 1, s->file) != 1)
        return 0;
    s->size = (size_t)about.st_size;
    wanted.size = about.st_size;
    return memcmp(&header, &wanted, sizeof(header)) == 0;
}

int pw_checkpoint_load(const char *output, struct pw_job *job, struct pw_matched *matched)
{
    char path[4352];
    file_name(path, sizeof(path), output, &job->procs);
    struct stream s = {.file = fopen(path, "r")};
    int there = fits(&s, job), failed;
    pw_ex_allreduce(PW_EX_IN_PLACE, &there, 1, PW_EX_INT, PW_EX_MIN, job->procs.comm);
    if (there) {
        pass_all(&s, job, matched);
        matched->instances.waits =
            calloc(matched->instances.n + 1, sizeof(*matched->instances.waits));
    }
    failed = there && (s.failed || !matched->instances.waits);
    if (s.file)
        fclose(s.file);
    pw_ex_allreduce(PW_EX_IN_PLACE, &failed, 1, PW_EX_INT, PW_EX_MAX, job->procs.comm);
    return failed ? -EIO : there;
}

void pw_checkpoint_remove(const char *output, const struct pw_procs *procs)
{
    char path[4352];
    file_name(path, sizeof(path), output, procs);
    unlink(path);
}
