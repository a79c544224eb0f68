/* Follows each text's reference to its object in a collection of the global heap; see h5heap.h. The
 * layout of both is section III.E of HDF5's file format specification. */
#include "core/h5/h5heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int pw_h5_heap_strings(int fd, const struct pw_h5_texts_place *place, char ***strings)
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
