/* Reads a JSON file of any size, plain or gzip'ed, in one pass, and passes the members of its
 * outermost object and the elements of its long array to a taker, one by one. The formats call it
 * in `look` and in `read`. Uses a few MiB of memory for a file of any size. It does not look into
 * members and elements; jsonobject.h does. */
#ifndef PW_IMPORT_JSONFILE_H
#define PW_IMPORT_JSONFILE_H

#include <stddef.h>
#include <stdint.h>

/* Reads a small gzip file at once, by libdeflate, which takes a third of the time that zlib takes.
 * The file may be damaged or hostile: then it is left to zlib, which says what is wrong. */

/* Sets *text to the text of the file, malloc'ed, with `padding` zeros behind it, and *n to its
 * length. Returns 0; 1 when the file has to be read as a stream, which is then at its begin: it is
 * not gzip, it is large, or it is not one complete member; or -errno. */
int pw_gztext_read(int fd, size_t padding, char **text, size_t *n);

/* `tell` is called now and then with the number of bytes of a file that were read so far. */
struct pw_import_progress {
    void (*tell)(void *context, int64_t file_bytes);
    void *context;
};

/* The text of a small gzip file, which can be read several times; or no text. */
struct pw_jsonfile_text {
    char *bytes; /* NULL: no text */
    size_t n;
    size_t first; /* position after the first value, if it ends within the first MiB; else 0 */
};

/* Reads the text of `path`, if it is a small gzip file, for takers; free() frees text.bytes. */
struct pw_jsonfile_text pw_jsonfile_load(const char *path);

/* The callbacks that receive the values. A text does not end with a NUL, is valid until the
 * callback returns, and is followed by PW_JSON_PADDING readable bytes. `member` and `element`
 * return 0 to go on, 1 to stop reading, or -errno. */
struct pw_jsonfile_taker {
    void *context;
    int lines; /* 1: the one object of a file, when it is below 1 MiB, is passed as an element, not
                  by its members */
    /* Whether the elements of this array, a member of the outermost object, are passed one by one;
     * otherwise the array is passed whole as a member. */
    int (*is_list)(void *context, const char *key, size_t length);
    int (*member)(void *context, const char *key, size_t key_length, const char *value,
                  size_t length);
    int (*element)(void *context, const char *text, size_t length, int64_t offset);
    const struct pw_import_progress *progress; /* may be NULL */
    struct pw_jsonfile_text text;              /* of the file, or no text: then it is read */
};

/* Callbacks for a taker: the long array is "traceEvents"; members are ignored. */
int pw_jsonfile_is_events(void *context, const char *key, size_t length);
int pw_jsonfile_ignore_member(void *context, const char *key, size_t key_length, const char *value,
                              size_t length);

/* The result of reading a file. */
struct pw_jsonfile_end {
    int64_t json_bytes; /* bytes read, after decompression */
    int64_t elements;
    int64_t oversize;  /* members that were left out because they are longer than 1 MiB */
    int64_t cut_at;    /* -1, or the offset at which the file ends too early or is not valid JSON */
    char problem[128]; /* what is wrong at cut_at */
    int is_scalar; /* 1: the file is a number, a string, true, false or null: whole, but no object
                    */
};

/* Reads a file that has one object, or one array, or objects one after another (JSON lines). The
 * elements of the array, and each object of JSON lines, are passed as elements. Returns 0, also for
 * a file that ends too early (end->cut_at >= 0); -EINVAL when the file does not begin with '{' or
 * '['; another -errno when it cannot be read, or the -errno of a callback. */
int pw_jsonfile_read(const char *path, const struct pw_jsonfile_taker *taker,
                     struct pw_jsonfile_end *end);

/* Finding the end of a JSON value, from quotes, escapes and brackets alone. */

/* Bytes after `end` that must be readable. */
enum { PW_JSONSCAN_PADDING = 16 };

/* Returns the position after the value that begins at `at`, or NULL when the value does not end
 * before `end`. A number or word ends only at a character that cannot be part of it. */
const char *pw_jsonscan_value(const char *at, const char *end);

/* Returns the position of the first byte from `at` on that is not white space, or `end`. */
const char *pw_jsonscan_space(const char *at, const char *end);

#endif
