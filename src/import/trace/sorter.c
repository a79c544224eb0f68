/* Sorts more records than fit into memory: writes sorted runs to an unlinked file, and merges them
 * with a heap while they are read. See sorter.h. */
#include "import/trace/sorter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/sort.h"

enum { KEYS = 3, FIRST_RECORDS = 256, LEAST_BLOCK = 4096 };

/* A run: a sorted part of the file, while it is read. */
struct run {
    int64_t begin, at, end; /* offsets in the file of the part that is not yet read */
    char *block;            /* [block_bytes] */
    size_t next, held;      /* bytes of the block: returned so far, read so far */
    uint32_t number;        /* records with equal keys come in the order of runs */
};

/* A record's key and index; these are sorted instead of the records. */
struct place {
    int64_t key[KEYS];
    uint32_t index;
};

struct pw_sorter {
    char *dir;
    int fd, err;
    size_t size, most; /* bytes of a record; the most records in memory */
    char *records;
    struct place *places;
    size_t n, capacity, next;
    int64_t count, file_bytes;
    struct run *runs;
    size_t nruns, runs_capacity;
    struct run **heap;
    size_t nheap, block_bytes;
    struct run *current; /* the run of the record that was returned last */
};

int pw_sorter_create(const char *dir, size_t size, size_t memory, struct pw_sorter **out)
{
    struct pw_sorter *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->dir = strdup(dir);
    s->fd = -1;
    s->size = size;
    s->most = memory / (size + sizeof(struct place));
    s->most = s->most < FIRST_RECORDS ? FIRST_RECORDS : s->most;
    if (!s->dir) {
        free(s);
        return -ENOMEM;
    }
    *out = s;
    return 0;
}

void pw_sorter_destroy(struct pw_sorter *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->nruns; i++)
        free(s->runs[i].block);
    if (s->fd >= 0)
        close(s->fd);
    free(s->runs);
    free(s->heap);
    free(s->records);
    free(s->places);
    free(s->dir);
    free(s);
}

static int compare_keys(const int64_t *a, const int64_t *b)
{
    for (int i = 0; i < KEYS; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* Whether `x` comes after `y`, of two places with x->index < y->index if their keys are equal. */
static inline int is_after(const struct place *x, const struct place *y)
{
    return x->key[0] != y->key[0] ? x->key[0] > y->key[0] : compare_keys(x->key, y->key) > 0;
}

static int by_key(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = compare_keys(x->key, y->key);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* Returns the end of the ascending run that begins at `from`. */
static size_t end_of_run(const struct place *places, size_t from, size_t n)
{
    size_t end = from + 1;
    while (end < n && !is_after(&places[end - 1], &places[end]))
        end++;
    return end < n ? end : n;
}

/* Merges the runs a[0, middle) and a[middle, n). */
static void merge_runs(const struct place *a, size_t middle, size_t n, struct place *out)
{
    size_t left = 0, right = middle;
    while (left < middle && right < n)
        *out++ = is_after(&a[left], &a[right]) ? a[right++] : a[left++];
    memcpy(out, a + left, (middle - left) * sizeof(*out));
    out += middle - left;
    memcpy(out, a + right, (n - right) * sizeof(*out));
}

/* Merges pairs of neighbouring runs into `out`. Returns how many runs `out` has. */
static size_t merge_pairs(const struct place *a, size_t n, struct place *out)
{
    size_t runs = 0;
    for (size_t at = 0, middle, end; at < n; at = end, runs++) {
        middle = end_of_run(a, at, n);
        end = middle < n ? end_of_run(a, middle, n) : n;
        merge_runs(a + at, middle - at, end - at, out + at);
    }
    return runs;
}

/* Sorts the places by their keys. Most of a trace is in order, and the rest has long runs. */
static void sort_places(struct pw_sorter *s)
{
    if (end_of_run(s->places, 0, s->n) >= s->n)
        return;
    struct place *other = malloc(s->capacity * sizeof(*other));
    if (!other) {
        pw_sort(s->places, s->n, sizeof(*s->places), by_key);
        return;
    }
    for (size_t runs = 2; runs > 1;) {
        runs = merge_pairs(s->places, s->n, other);
        struct place *swap = s->places;
        s->places = other;
        other = swap;
    }
    free(other);
}

static void sort_held(struct pw_sorter *s)
{
    for (size_t i = 0; i < s->n; i++) {
        s->places[i].index = (uint32_t)i;
        memcpy(s->places[i].key, s->records + i * s->size, sizeof(s->places[i].key));
    }
    sort_places(s);
}

static int open_file(struct pw_sorter *s)
{
    char path[4200];
    if (s->fd >= 0)
        return 0;
    snprintf(path, sizeof(path), "%s/import-XXXXXX", s->dir);
    s->fd = mkostemp(path, O_CLOEXEC);
    if (s->fd < 0)
        return -errno;
    unlink(path);
    return 0;
}

static int write_all(struct pw_sorter *s, const char *bytes, size_t n)
{
    while (n) {
        ssize_t done = pwrite(s->fd, bytes, n, s->file_bytes);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done ? -errno : -EIO;
        bytes += done;
        n -= (size_t)done;
        s->file_bytes += done;
    }
    return 0;
}

static int add_run(struct pw_sorter *s, int64_t from)
{
    if (s->nruns == s->runs_capacity) {
        size_t capacity = s->runs_capacity ? 2 * s->runs_capacity : 16;
        struct run *more = realloc(s->runs, capacity * sizeof(*more));
        if (!more)
            return -ENOMEM;
        s->runs = more;
        s->runs_capacity = capacity;
    }
    s->runs[s->nruns] =
        (struct run){.begin = from, .at = from, .end = s->file_bytes, .number = (uint32_t)s->nruns};
    s->nruns++;
    return 0;
}

/* Writes the records in memory to the file as a new run. Returns 0 or -errno. */
static int spill(struct pw_sorter *s)
{
    enum { BUFFER = 1 << 18 };
    int64_t from;
    if (!s->n)
        return 0;
    char *buffer = malloc(BUFFER);
    int err = buffer ? open_file(s) : -ENOMEM;
    size_t used = 0;
    from = s->file_bytes;
    sort_held(s);
    for (size_t i = 0; i < s->n && !err; i++) {
        memcpy(buffer + used, s->records + s->places[i].index * s->size, s->size);
        used += s->size;
        if (used + s->size > BUFFER || i + 1 == s->n) {
            err = write_all(s, buffer, used);
            used = 0;
        }
    }
    free(buffer);
    s->n = 0;
    return err ? err : add_run(s, from);
}

static int make_room(struct pw_sorter *s)
{
    if (s->n < s->capacity)
        return 0;
    if (s->n == s->most)
        return spill(s);
    size_t capacity = s->capacity ? 2 * s->capacity : FIRST_RECORDS;
    capacity = capacity < s->most ? capacity : s->most;
    char *records = realloc(s->records, capacity * s->size);
    s->records = records ? records : s->records;
    struct place *places = realloc(s->places, capacity * sizeof(*places));
    s->places = places ? places : s->places;
    if (!records || !places)
        return -ENOMEM;
    s->capacity = capacity;
    return 0;
}

void pw_sorter_add(struct pw_sorter *s, const void *record)
{
    s->err = s->err ? s->err : make_room(s);
    if (s->err)
        return;
    memcpy(s->records + s->n++ * s->size, record, s->size);
    s->count++;
}

int64_t pw_sorter_count(const struct pw_sorter *s)
{
    return s->count;
}

void pw_sorter_park(struct pw_sorter *s)
{
    s->err = s->err ? s->err : spill(s);
    free(s->records);
    free(s->places);
    s->records = NULL;
    s->places = NULL;
    s->capacity = 0;
}

/* Reads the next block of a run. Returns 0 at the run's end or after an error (s->err). */
static int refill(struct pw_sorter *s, struct run *run)
{
    int64_t left = run->end - run->at;
    size_t want = left < (int64_t)s->block_bytes ? (size_t)left : s->block_bytes;
    run->next = run->held = 0;
    while (run->held < want) {
        ssize_t got = pread(s->fd, run->block + run->held, want - run->held, run->at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            s->err = got ? -errno : -EIO;
            return 0;
        }
        run->held += (size_t)got;
        run->at += got;
    }
    return want > 0;
}

static int comes_first(const struct run *a, const struct run *b)
{
    int64_t x[KEYS], y[KEYS];
    memcpy(x, a->block + a->next, sizeof(x));
    memcpy(y, b->block + b->next, sizeof(y));
    int order = compare_keys(x, y);
    return order < 0 || (order == 0 && a->number < b->number);
}

static void sink(struct pw_sorter *s, size_t i)
{
    for (;;) {
        size_t least = i, child = 2 * i + 1;
        for (size_t c = child; c < child + 2 && c < s->nheap; c++)
            if (comes_first(s->heap[c], s->heap[least]))
                least = c;
        if (least == i)
            return;
        struct run *moved = s->heap[i];
        s->heap[i] = s->heap[least];
        s->heap[least] = moved;
        i = least;
    }
}

static int begin_merge(struct pw_sorter *s)
{
    size_t memory = s->most * s->size;
    pw_sorter_park(s);
    if (s->err)
        return s->err;
    s->block_bytes = memory / s->nruns;
    s->block_bytes = s->block_bytes < LEAST_BLOCK ? LEAST_BLOCK : s->block_bytes;
    s->block_bytes = s->block_bytes > 1 << 20 ? 1 << 20 : s->block_bytes;
    s->block_bytes -= s->block_bytes % s->size;
    s->heap = malloc(s->nruns * sizeof(struct run *));
    if (!s->heap)
        return -ENOMEM;
    for (size_t i = 0; i < s->nruns; i++) {
        s->runs[i].block = malloc(s->block_bytes);
        if (!s->runs[i].block)
            return -ENOMEM;
        if (refill(s, &s->runs[i]))
            s->heap[s->nheap++] = &s->runs[i];
    }
    for (size_t i = s->nheap; i-- > 0;)
        sink(s, i);
    return s->err;
}

int pw_sorter_begin(struct pw_sorter *s)
{
    if (!s->err && s->nruns)
        s->err = begin_merge(s);
    else if (!s->err)
        sort_held(s);
    return s->err;
}

int pw_sorter_rewind(struct pw_sorter *s)
{
    s->next = 0;
    s->current = NULL;
    s->nheap = 0;
    for (size_t i = 0; i < s->nruns && !s->err; i++) {
        s->runs[i].at = s->runs[i].begin;
        if (refill(s, &s->runs[i]))
            s->heap[s->nheap++] = &s->runs[i];
    }
    for (size_t i = s->nheap; i-- > 0;)
        sink(s, i);
    return s->err;
}

static const void *next_of_merge(struct pw_sorter *s)
{
    if (s->current) { /* moves past the record that was returned last */
        s->current->next += s->size;
        if (s->current->next >= s->current->held && !refill(s, s->current))
            s->heap[0] = s->heap[--s->nheap];
        if (s->nheap)
            sink(s, 0);
    }
    s->current = s->nheap && !s->err ? s->heap[0] : NULL;
    return s->current ? s->current->block + s->current->next : NULL;
}

const void *pw_sorter_next(struct pw_sorter *s)
{
    if (s->err)
        return NULL;
    if (s->nruns)
        return next_of_merge(s);
    return s->next < s->n ? s->records + s->places[s->next++].index * s->size : NULL;
}

int pw_sorter_error(const struct pw_sorter *s)
{
    return s->err;
}
