/* A JSON file of any size, plain or gzip'ed, read in one pass: the members of its one object, and
 * the elements of its long array one by one. The formats call it to see whose a file is and to read
 * its events. Memory is a few MiB whatever the size of the file; what a member or element means is
 * not looked at here (jsonobject.h reads them). */
#ifndef PW_IMPORT_JSONFILE_H
#define PW_IMPORT_JSONFILE_H

#include <stddef.h>
#include <stdint.h>

/* Called now and then with the number of bytes of a file that were read so far. */
struct pw_import_progress {
    void (*tell)(void *context, int64_t file_bytes);
    void *context;
};

/* What is read; all texts are without a NUL, and good until the call returns. Texts have room for
 * the parser's padding behind them. Answers: 0 to go on, 1 to read no further, or -errno. */
struct pw_jsonfile_taker {
    void *context;
    int lines; /* 1: a file of one object only, of less than 1 MiB, has it as an element, too */
    /* The member of the outermost object that is the long array, if it is one. */
    int (*is_list)(void *context, const char *key, size_t length);
    int (*member)(void *context, const char *key, size_t key_length, const char *value,
                  size_t length);
    int (*element)(void *context, const char *text, size_t length, int64_t offset);
    const struct pw_import_progress *progress; /* may be NULL */
};

/* What came of it. */
struct pw_jsonfile_end {
    int64_t json_bytes; /* read, after decompression */
    int64_t elements;
    int64_t oversize;  /* members that were too long to keep (1 MiB) and are left out */
    int64_t cut_at;    /* -1, or where the file ends too early or is no JSON any more */
    char problem[128]; /* with cut_at: what is wrong there */
};

/* Reads a file: one object, or one array, or objects one after another (JSON lines), of which the
 * latter two are elements. 0, also for one that ends too early; else -errno: it cannot be read, or
 * is no JSON from its first byte on (-EINVAL), or what a taker answered. */
int pw_jsonfile_read(const char *path, const struct pw_jsonfile_taker *taker,
                     struct pw_jsonfile_end *end);

/* Where a JSON value ends, without a look at what is in it: quotes, escapes and brackets only. */

/* Bytes behind `end` that may be read. */
enum { PW_JSONSCAN_PADDING = 16 };

/* Behind the value that begins at `at`, or NULL when it does not end before `end`. A number or word
 * ends where something else follows. */
const char *pw_jsonscan_value(const char *at, const char *end);

/* The first byte from `at` on that is no white space, or `end`. */
const char *pw_jsonscan_space(const char *at, const char *end);

#endif
