/* Collects, appends, verifies and decodes the contents, and reads the texts that they tell of; see
 * h5contents.h.
 *
 * The file ends with: the contents, compressed; then a footer. The contents are a head; the
 * attributes, each with its name and value; the tables, each with its chunks. Numbers are in the
 * byte order of the machine that wrote them, and the footer's magic number tells the order. */
#include "core/h5/h5contents.h"

#include <assert.h>
#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/h5/h5types.h"
#include "core/hash.h"
#include "core/tables.h"

/* Reads texts from the heap of an HDF5 file without the HDF5 library, which takes longer to begin
 * with a file than to read its texts. Follows each text's reference to its object in a collection
 * of the global heap. The layout of both is section III.E of HDF5's file format specification. */

/* A dataset of texts: where its `n` references to the heap begin, and the end of the file. */
struct pw_h5_texts_place {
    uint64_t at, n, end;
};

enum {
    MOST_TEXTS = 1 << 22,
    REFERENCE = 16,  /* bytes of a reference: length of the text, its collection, its object */
    COLLECTION = 16, /* bytes of the head of a collection: signature, version, size */
    OBJECT = 16,     /* bytes of the head of an object: number, references, size */
    LEAST_NUMBERS = 256,
    KEPT = 16, /* collections: HDF5 puts a text into any of the last 16 that has room */
};

struct collection {
    uint64_t at; /* 0: none was read yet */
    size_t size;
    char *bytes;
    /* [nobjects] Where the data of an object begins, and its size; 0: there is no such object. */
    struct object {
        uint32_t at, size;
    } * objects;
    size_t nobjects; /* more than any object's number so far */
};

/* The collections that were read last. */
struct heap {
    int fd;
    uint64_t end;      /* of the file */
    uint64_t left;     /* bytes of collections that may be read: more than once, but not for ever */
    size_t last, next; /* the collection of the last text, and that to be replaced next */
    struct collection kept[KEPT];
};

static uint64_t number_of(const char *from, size_t bytes)
{
    uint64_t number = 0;
    memcpy(&number, from, bytes); /* little-endian, as is every machine that reads contents */
    return number;
}

static int read_at(const struct heap *heap, uint64_t at, void *to, size_t n)
{
    return at <= heap->end && n <= heap->end - at &&
           pread(heap->fd, to, n, (off_t)at) == (ssize_t)n;
}

/* Makes room for an object in the list. Numbers are usually small: a list of all that there can be
 * would have to be cleared for each file. Returns 0 or -ENOMEM. */
static int make_room(struct collection *c, uint64_t number)
{
    size_t n = c->nobjects ? c->nobjects : LEAST_NUMBERS;
    if (number < c->nobjects)
        return 0;
    while (n <= number)
        n *= 2;
    struct object *objects = realloc(c->objects, n * sizeof(*objects));
    if (!objects)
        return -ENOMEM;
    memset(objects + c->nobjects, 0, (n - c->nobjects) * sizeof(*objects));
    c->objects = objects;
    c->nobjects = n;
    return 0;
}

/* Lists the objects of the collection, or removes them from the list. Returns 0 or -ENOMEM. */
static int list_objects(struct collection *c, int is_listed)
{
    for (size_t at = COLLECTION; at + OBJECT <= c->size;) {
        const char *object = c->bytes + at;
        const uint64_t number = number_of(object, 2), size = number_of(object + 8, 8);
        at += OBJECT;
        if (number == 0 || size > c->size - at) /* 0: the free space at the end */
            return 0;
        if (make_room(c, number))
            return -ENOMEM;
        c->objects[number] =
            is_listed ? (struct object){(uint32_t)at, (uint32_t)size} : (struct object){0, 0};
        at += (size + 7) / 8 * 8;
    }
    return 0;
}

/* Reads the collection at this address. Returns 0, -EIO or -ENOMEM. */
static int load(struct heap *heap, struct collection *c, uint64_t at)
{
    char head[COLLECTION];
    if (c->bytes)
        list_objects(c, 0);
    c->at = 0;
    c->size = 0;
    if (!read_at(heap, at, head, sizeof(head)) || memcmp(head, "GCOL\1", 5) != 0)
        return -EIO;
    const uint64_t size = number_of(head + 8, 8);
    if (size < COLLECTION || size > heap->left || size > UINT32_MAX)
        return -EIO;
    heap->left -= size;
    char *bytes = realloc(c->bytes, size);
    if (!bytes)
        return -ENOMEM;
    c->bytes = bytes;
    if (!read_at(heap, at, bytes, size))
        return -EIO;
    c->size = size;
    c->at = at;
    return list_objects(c, 1);
}

/* Makes the collection at this address the last one. Returns 0, -EIO or -ENOMEM. */
static int find(struct heap *heap, uint64_t at)
{
    if (!at)
        return -EIO;
    if (heap->kept[heap->last].at == at)
        return 0;
    for (size_t i = 0; i < KEPT; i++)
        if (heap->kept[i].at == at) {
            heap->last = i;
            return 0;
        }
    heap->last = heap->next;
    heap->next = (heap->next + 1) % KEPT;
    return load(heap, &heap->kept[heap->last], at);
}

/* Copies a text to `to`, which has room for `room` bytes, and sets *length. Returns 0, -EIO or
 * -ENOMEM. */
static int copy_text(struct heap *heap, const char *reference, char *to, size_t room,
                     size_t *length)
{
    const uint64_t size = number_of(reference, 4), at = number_of(reference + 4, 8);
    const int err = size ? find(heap, at) : 0;
    const struct collection *c = &heap->kept[heap->last];
    *length = 0;
    if (err || !size)
        return err;
    const uint64_t number = number_of(reference + 12, 4);
    const struct object *object = number < c->nobjects ? &c->objects[number] : NULL;
    if (!object || object->size < size || size >= room)
        return -EIO;
    *length = strnlen(c->bytes + object->at, size);
    memcpy(to, c->bytes + object->at, *length);
    return 0;
}

static int copy_texts(struct heap *heap, const char *references, size_t n, char **strings,
                      size_t room)
{
    char *to = (char *)(strings + n);
    int err = 0;
    for (size_t i = 0; i < n && !err; i++) {
        size_t length;
        err = copy_text(heap, references + i * REFERENCE, to, room, &length);
        strings[i] = to;
        if (!err) {
            to[length] = '\0';
            to += length + 1;
            room -= length + 1;
        }
    }
    return err;
}

/* Returns the bytes that the texts need at most; 0 when they cannot all be in the file. */
static size_t room_for(const char *references, size_t n, uint64_t end)
{
    uint64_t room = 1;
    for (size_t i = 0; i < n; i++)
        room += number_of(references + i * REFERENCE, 4) + 1;
    return room - n - 1 <= end ? (size_t)room : 0;
}

/* Reads the texts into one malloc'ed block: the pointers and the texts. Returns 0, -EIO or
 * -ENOMEM. */
static int h5_heap_strings(int fd, const struct pw_h5_texts_place *place, char ***strings)
{
    struct heap heap = {.fd = fd, .end = place->end, .left = 2 * place->end};
    if (place->n > MOST_TEXTS || place->at > place->end)
        return -EIO;
    const size_t n = (size_t)place->n;
    char *references = malloc(n * REFERENCE + 1), **texts = NULL;
    int err = !references                                            ? -ENOMEM
              : read_at(&heap, place->at, references, n * REFERENCE) ? 0
                                                                     : -EIO;
    const size_t room = err ? 0 : room_for(references, n, place->end);
    if (!err && !room)
        err = -EIO;
    if (!err)
        texts = malloc(n * sizeof(*texts) + room);
    if (!err && !texts)
        err = -ENOMEM;
    err = err ? err : copy_texts(&heap, references, n, texts, room);
    for (size_t i = 0; i < KEPT; i++) {
        free(heap.kept[i].bytes);
        free(heap.kept[i].objects);
    }
    free(references);
    if (err)
        free(texts);
    else
        *strings = texts;
    return err;
}

#define MAGIC 0x31746e6f63777270u /* "prwcont1" */

enum {
    SUPERBLOCK = 48,     /* bytes of HDF5's superblock of version 2, which ends in its checksum */
    SUPERBLOCK_END = 28, /* where in it HDF5's own end of the file is */
    LEAST_ROOM = 4096,
    MOST_BYTES = 1 << 28,
    MOST_CHUNK_BYTES = 1 << 24,
    MOST_TEXT = 1 << 16,  /* bytes of an attribute: HDF5 has no larger ones */
    FREE_BYTES = 1 << 20, /* as in h5vet.c: */
    MOST_GROWTH = 2048,   /* bytes in memory per stored byte */
    HAS_SHUFFLE = 1,      /* flags of a table: the first filter is shuffle, */
    HAS_DEFLATE = 2,      /* and the second one is deflate */
    LEVEL = 6,
};

struct footer {
    uint64_t magic, tables; /* tables: hash of the tables of the program that wrote the file */
    uint64_t end;           /* HDF5's end of the file: the contents begin here */
    uint32_t bytes, size;   /* of the contents: compressed, decompressed */
    uint32_t checksum;      /* of the superblock, the contents, and the footer up to here */
    uint32_t unused;
};

struct head {
    uint64_t texts_at, ntexts; /* data of the dataset /strings; ntexts 0: there is none */
    uint32_t nattributes, ntables;
};

struct attribute {
    uint32_t name, value; /* bytes of each */
    uint32_t is_text, unused;
};

struct stored_table {
    uint64_t rows;
    uint32_t table, chunk_rows, nchunks, flags;
};

static_assert(sizeof(struct pw_h5_chunk) == 16, "chunks are stored as they are");

/* ---- the tables of this program ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (size_t left = strlen(text) + 1; left;) {
        uint64_t word = 0;
        const size_t n = left < sizeof(word) ? left : sizeof(word);
        memcpy(&word, text, n);
        hash = pw_hash_mix(hash, word);
        text += n;
        left -= n;
    }
    return hash;
}

static uint64_t hash_enums(uint64_t hash)
{
    for (int type = PW_F_OP; type < PW_F_END; type++)
        for (const struct pw_enum_item *item = pw_enum_borrow((enum pw_field_type)type);
             item && item->name; item++)
            hash = hash_text(pw_hash_mix(hash, (uint64_t)item->value), item->name);
    return hash;
}

/* The numbers of the tables of a kind of file: from the first one until before `end`. */
struct range {
    int first, end;
};

static struct range tables_of(enum pw_h5_kind kind)
{
    return kind == PW_H5_RANK ? (struct range){0, PW_RANK_TABLE_COUNT}
                              : (struct range){PW_RANK_TABLE_COUNT, PW_TABLE_COUNT};
}

/* A hash of all that says how the rows of files of a kind are stored. */
static uint64_t hash_tables(enum pw_h5_kind kind)
{
    const struct range tables = tables_of(kind);
    uint64_t hash = hash_enums(1);
    for (int i = tables.first; i < tables.end; i++) {
        const struct pw_table *table = pw_table_borrow(i);
        const struct pw_field *fields = table->fields();
        hash = hash_text(pw_hash_mix(hash, table->row_size), table->path);
        for (size_t k = 0; k < table->nfields; k++) {
            hash = hash_text(pw_hash_mix(hash, fields[k].offset), fields[k].name);
            hash = pw_hash_mix(pw_hash_mix(hash, (uint64_t)fields[k].type), fields[k].size);
        }
    }
    return hash;
}

/* The same, calculated once: every file that is opened needs it. */
static uint64_t tables_of_this_program(enum pw_h5_kind kind)
{
    static _Atomic uint64_t known[PW_H5_KINDS];
    uint64_t hash = known[kind];
    if (!hash)
        known[kind] = hash = hash_tables(kind);
    return hash;
}

/* ---- writing ---- */

static void add_bytes(struct pw_h5_draft *d, const void *bytes, size_t n)
{
    if (!d->err && d->n + n > d->capacity) {
        const size_t capacity = 2 * (d->n + n) + LEAST_ROOM;
        char *moved = realloc(d->bytes, capacity);
        d->err = moved ? 0 : -ENOMEM;
        d->bytes = moved ? moved : d->bytes;
        d->capacity = moved ? capacity : d->capacity;
    }
    if (!d->err && n) {
        memcpy(d->bytes + d->n, bytes, n);
        d->n += n;
    }
}

/* `text` has room for MOST_TEXT + 1 bytes. */
static void add_attribute(struct pw_h5_draft *d, hid_t file, const char *name, char *text)
{
    int64_t number = 0;
    const int is_number = pw_h5_get_int(file, name, &number) == 0;
    if (!is_number && pw_h5_get_text(file, name, text, MOST_TEXT + 1))
        d->err = d->err ? d->err : -EINVAL;
    if (!d->err) {
        const struct attribute attribute = {.name = (uint32_t)strlen(name),
                                            .value =
                                                is_number ? sizeof(number) : (uint32_t)strlen(text),
                                            .is_text = !is_number};
        add_bytes(d, &attribute, sizeof(attribute));
        add_bytes(d, name, attribute.name);
        add_bytes(d, is_number ? (const void *)&number : text, attribute.value);
        if (!d->err)
            ((struct head *)(void *)d->bytes)->nattributes++;
    }
}

struct visit {
    struct pw_h5_draft *draft;
    char *text;
};

static herr_t visit_attribute(hid_t file, const char *name, const H5A_info_t *info, void *context)
{
    struct visit *visit = context;
    (void)info;
    add_attribute(visit->draft, file, name, visit->text);
    return 0;
}

/* Finds the data of /strings. A file without it, or without texts, has none. */
static void find_texts(hid_t file, struct head *head)
{
    if (H5Lexists(file, "/strings", H5P_DEFAULT) <= 0)
        return;
    const hid_t dataset = H5Dopen2(file, "/strings", H5P_DEFAULT);
    const hid_t space = dataset >= 0 ? H5Dget_space(dataset) : -1;
    const hssize_t n = space >= 0 ? H5Sget_simple_extent_npoints(space) : 0;
    const haddr_t at = n > 0 ? H5Dget_offset(dataset) : HADDR_UNDEF;
    if (at != HADDR_UNDEF) {
        head->texts_at = at;
        head->ntexts = (uint64_t)n;
    }
    if (space >= 0)
        H5Sclose(space);
    if (dataset >= 0)
        H5Dclose(dataset);
}

void pw_h5_draft_begin(struct pw_h5_draft *d, hid_t file)
{
    struct head head = {0};
    struct visit visit = {d, malloc(MOST_TEXT + 1)};
    find_texts(file, &head);
    add_bytes(d, &head, sizeof(head));
    d->err = d->err || visit.text ? d->err : -ENOMEM;
    if (!d->err &&
        H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit_attribute, &visit) < 0)
        d->err = -EIO;
    free(visit.text);
}

void pw_h5_draft_add(struct pw_h5_draft *d, const struct pw_h5_place *place)
{
    const struct stored_table table = {
        .rows = place->rows,
        .table = (uint32_t)place->table,
        .chunk_rows = (uint32_t)place->chunk_rows,
        .nchunks = (uint32_t)place->nchunks,
        .flags = (place->shuffle == 0 ? HAS_SHUFFLE : 0) | (place->deflate == 1 ? HAS_DEFLATE : 0),
    };
    add_bytes(d, &table, sizeof(table));
    add_bytes(d, place->chunks, place->nchunks * sizeof(*place->chunks));
    if (!d->err)
        ((struct head *)(void *)d->bytes)->ntables++;
}

static uint32_t checksum_of(const char *superblock, const void *contents,
                            const struct footer *footer)
{
    uint32_t sum = libdeflate_crc32(0, superblock, SUPERBLOCK);
    sum = libdeflate_crc32(sum, contents, footer->bytes);
    return libdeflate_crc32(sum, footer, offsetof(struct footer, checksum));
}

/* Returns the size of the file, 0 when it is not known. */
static uint64_t size_of(int fd)
{
    struct stat about;
    return fstat(fd, &about) == 0 && about.st_size > 0 ? (uint64_t)about.st_size : 0;
}

/* Reads the superblock, and sets *end to HDF5's end of the file. Returns 1, or 0 when the file has
 * no superblock as profwrap's writer makes it. */
static int read_superblock(int fd, char superblock[SUPERBLOCK], uint64_t *end)
{
    static const char begin[] = "\211HDF\r\n\032\n\002\010\010"; /* version 2, sizes of 8 bytes */
    if (pread(fd, superblock, SUPERBLOCK, 0) != SUPERBLOCK ||
        memcmp(superblock, begin, sizeof(begin) - 1) != 0)
        return 0;
    memcpy(end, superblock + SUPERBLOCK_END, sizeof(*end));
    return 1;
}

/* Compresses the draft. Returns its size, 0 when that fails. */
static size_t compress_draft(const struct pw_h5_draft *d, char *to, size_t most)
{
    struct libdeflate_compressor *deflater = libdeflate_alloc_compressor(LEVEL);
    const size_t size = deflater ? libdeflate_zlib_compress(deflater, d->bytes, d->n, to, most) : 0;
    libdeflate_free_compressor(deflater);
    return size;
}

static int write_all(int fd, const void *bytes, size_t n, uint64_t at)
{
    for (size_t done = 0; done < n;) {
        const ssize_t wrote = pwrite(fd, (const char *)bytes + done, n - done, (off_t)(at + done));
        if (wrote == 0 || (wrote < 0 && errno != EINTR))
            return -EIO;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return 0;
}

void pw_h5_draft_append(struct pw_h5_draft *d, int fd)
{
    struct footer footer = {.magic = MAGIC, .tables = tables_of_this_program(d->kind)};
    char superblock[SUPERBLOCK];
    char *packed = fd < 0 || d->err || d->n > MOST_BYTES ? NULL : malloc(d->n);
    /* HDF5 stores numbers as little-endian: on another machine, the end is not the file's size. */
    if (packed && read_superblock(fd, superblock, &footer.end) && footer.end == size_of(fd)) {
        footer.size = (uint32_t)d->n;
        footer.bytes = (uint32_t)compress_draft(d, packed, d->n);
        footer.checksum = checksum_of(superblock, packed, &footer);
        if (footer.bytes && (write_all(fd, packed, footer.bytes, footer.end) ||
                             write_all(fd, &footer, sizeof(footer), footer.end + footer.bytes))) {
            const int ignored = ftruncate(fd, (off_t)footer.end);
            (void)ignored; /* a part of the contents is no harm either: HDF5 does not look there */
        }
    }
    free(packed);
    free(d->bytes);
    *d = (struct pw_h5_draft){0};
}

/* ---- reading ---- */

struct pw_h5_contents {
    char *bytes; /* decompressed */
    size_t size, attributes;
    struct head head;
    uint64_t end;    /* HDF5's end of the file: all places are before it */
    uint64_t stored; /* bytes of all chunks */
    struct range tables;
    struct pw_h5_place places[PW_TABLE_COUNT];
};

/* Finds the kind of file whose tables, as this program has them, the footer was written for.
 * Returns 0 or -ENOENT. */
static int find_kind(const struct footer *footer, enum pw_h5_kind *kind)
{
    for (*kind = 0; *kind < PW_H5_KINDS; ++*kind)
        if (footer->tables == tables_of_this_program(*kind))
            return 0;
    return -ENOENT;
}

/* Reads the footer and the compressed contents, which are malloc'ed, and verifies them. Returns 0,
 * -ENOENT or -ENOMEM. */
static int read_packed(int fd, struct footer *footer, char **packed, enum pw_h5_kind *kind)
{
    const uint64_t size = size_of(fd), at = size - sizeof(*footer);
    char superblock[SUPERBLOCK];
    uint64_t end;
    if (size < SUPERBLOCK + sizeof(*footer))
        return -ENOENT;
    if (pread(fd, footer, sizeof(*footer), (off_t)at) != (ssize_t)sizeof(*footer) ||
        footer->magic != MAGIC || find_kind(footer, kind) || footer->bytes == 0 ||
        footer->bytes > MOST_BYTES || footer->size > MOST_BYTES || footer->end > at ||
        footer->end + footer->bytes != at || !read_superblock(fd, superblock, &end) ||
        end != footer->end)
        return -ENOENT;
    char *bytes = malloc(footer->bytes);
    if (!bytes)
        return -ENOMEM;
    if (pread(fd, bytes, footer->bytes, (off_t)footer->end) != (ssize_t)footer->bytes ||
        checksum_of(superblock, bytes, footer) != footer->checksum) {
        free(bytes);
        return -ENOENT;
    }
    *packed = bytes;
    return 0;
}

static int decompress(const struct footer *footer, const char *packed, struct pw_h5_contents *c)
{
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    int err = -ENOMEM;
    c->size = footer->size;
    c->bytes = malloc(c->size + 1);
    if (inflater && c->bytes)
        err = libdeflate_zlib_decompress(inflater, packed, footer->bytes, c->bytes, c->size,
                                         NULL) == LIBDEFLATE_SUCCESS
                  ? 0
                  : -ENOENT;
    libdeflate_free_decompressor(inflater);
    return err;
}

/* Copies the next `n` bytes. Returns 0 when there are not so many. */
static int take(const struct pw_h5_contents *c, size_t *at, void *to, size_t n)
{
    if (n > c->size - *at)
        return 0;
    memcpy(to, c->bytes + *at, n);
    *at += n;
    return 1;
}

static int skip(const struct pw_h5_contents *c, size_t *at, size_t n)
{
    if (n > c->size - *at)
        return 0;
    *at += n;
    return 1;
}

static int are_chunks_possible(struct pw_h5_contents *c, const struct pw_h5_place *p)
{
    const size_t row_size = pw_table_borrow(p->table)->row_size;
    uint64_t stored = 0;
    for (size_t i = 0; i < p->nchunks; i++) {
        const struct pw_h5_chunk *chunk = &p->chunks[i];
        if (!chunk->bytes || chunk->bytes > 2 * (uint64_t)MOST_CHUNK_BYTES ||
            chunk->address < SUPERBLOCK || chunk->address > c->end ||
            chunk->bytes > c->end - chunk->address)
            return 0;
        stored += chunk->bytes;
    }
    c->stored += stored;
    return c->stored <= c->end &&
           (p->rows <= FREE_BYTES / row_size || p->rows / MOST_GROWTH <= stored / row_size);
}

static int decode_table(struct pw_h5_contents *c, size_t *at)
{
    struct stored_table t;
    if (!take(c, at, &t, sizeof(t)) || t.table < (uint32_t)c->tables.first ||
        t.table >= (uint32_t)c->tables.end || c->places[t.table].rows || !t.chunk_rows ||
        t.chunk_rows > MOST_CHUNK_BYTES / pw_table_borrow((int)t.table)->row_size || !t.nchunks ||
        t.nchunks > (c->size - *at) / sizeof(struct pw_h5_chunk) ||
        t.rows > (uint64_t)t.nchunks * t.chunk_rows ||
        t.rows <= (uint64_t)(t.nchunks - 1) * t.chunk_rows || t.flags > (HAS_SHUFFLE | HAS_DEFLATE))
        return -ENOENT;
    struct pw_h5_place *p = &c->places[t.table];
    p->chunks = malloc(t.nchunks * sizeof(*p->chunks));
    if (!p->chunks)
        return -ENOMEM;
    p->table = (int)t.table;
    p->rows = t.rows;
    p->chunk_rows = t.chunk_rows;
    p->nchunks = t.nchunks;
    p->shuffle = t.flags & HAS_SHUFFLE ? 0 : -1;
    p->deflate = t.flags & HAS_DEFLATE ? 1 : -1;
    take(c, at, p->chunks, t.nchunks * sizeof(*p->chunks));
    return are_chunks_possible(c, p) ? 0 : -ENOENT;
}

static int decode(struct pw_h5_contents *c)
{
    size_t at = 0;
    if (!take(c, &at, &c->head, sizeof(c->head)))
        return -ENOENT;
    c->attributes = at;
    for (uint32_t i = 0; i < c->head.nattributes; i++) {
        struct attribute a;
        if (!take(c, &at, &a, sizeof(a)) || !skip(c, &at, a.name) || !skip(c, &at, a.value) ||
            (!a.is_text && a.value != sizeof(int64_t)))
            return -ENOENT;
    }
    int err = 0;
    for (uint32_t i = 0; i < c->head.ntables && !err; i++)
        err = decode_table(c, &at);
    return err ? err : at == c->size ? 0 : -ENOENT;
}

int pw_h5_contents_read(int fd, struct pw_h5_contents **out)
{
    struct footer footer;
    enum pw_h5_kind kind;
    char *packed;
    int err = read_packed(fd, &footer, &packed, &kind);
    if (err)
        return err;
    struct pw_h5_contents *c = calloc(1, sizeof(*c));
    err = c ? decompress(&footer, packed, c) : -ENOMEM;
    free(packed);
    if (!err) {
        c->tables = tables_of(kind);
        c->end = footer.end;
        err = decode(c);
    }
    if (err)
        pw_h5_contents_free(c);
    else
        *out = c;
    return err;
}

void pw_h5_contents_free(struct pw_h5_contents *c)
{
    for (int i = 0; c && i < PW_TABLE_COUNT; i++)
        free(c->places[i].chunks);
    if (c)
        free(c->bytes);
    free(c);
}

void pw_h5_contents_place(const struct pw_h5_contents *c, int table, struct pw_h5_place *place)
{
    *place = c->places[table];
    place->table = table;
}

/* Returns the value of the attribute; NULL when there is none of this kind. */
static const char *find_attribute(const struct pw_h5_contents *c, const char *name, int is_text,
                                  size_t *size)
{
    const size_t length = strlen(name);
    size_t at = c->attributes;
    for (uint32_t i = 0; i < c->head.nattributes; i++) {
        struct attribute a;
        take(c, &at, &a, sizeof(a)); /* decode() has checked the sizes */
        const char *found = c->bytes + at;
        at += (size_t)a.name + a.value;
        if (a.name == length && memcmp(found, name, length) == 0) {
            *size = a.value;
            return a.is_text == (uint32_t)is_text ? found + length : NULL;
        }
    }
    return NULL;
}

int pw_h5_contents_text(const struct pw_h5_contents *c, const char *name, char *value, size_t size)
{
    size_t stored = 0;
    const char *text = find_attribute(c, name, 1, &stored);
    if (!text)
        return -ENOENT;
    const size_t length = strnlen(text, stored < size ? stored : size - 1);
    memcpy(value, text, length);
    value[length] = '\0';
    return 0;
}

int pw_h5_contents_int(const struct pw_h5_contents *c, const char *name, int64_t *value)
{
    size_t stored = 0;
    const char *number = find_attribute(c, name, 0, &stored);
    if (!number)
        return -ENOENT;
    memcpy(value, number, sizeof(*value));
    return 0;
}

int pw_h5_contents_strings(const struct pw_h5_contents *c, int fd, char ***strings, size_t *count)
{
    if (!c->head.ntexts)
        return -ENOENT;
    const struct pw_h5_texts_place place = {c->head.texts_at, c->head.ntexts, c->end};
    const int err = h5_heap_strings(fd, &place, strings);
    *count = err ? *count : (size_t)c->head.ntexts;
    return err;
}
