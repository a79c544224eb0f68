/* One JSON object at a time, flat: what the formats read of a trace's events. jsonfile.h cuts a
 * file of any size into such objects. The parser is simdjson's, in jsonparser.cc, and throws no
 * exceptions; readers of single values are in jsonobject.c. Texts are not copied: they are those of
 * the caller, and have no NUL at their ends. */
#ifndef PW_IMPORT_JSONOBJECT_H
#define PW_IMPORT_JSONOBJECT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that must be readable behind a text, whatever they are. */
enum { PW_JSON_PADDING = 64, PW_JSON_ITEMS = 256 };

enum pw_json_type {
    PW_JSON_TEXT,   /* without its quotes and escapes */
    PW_JSON_NUMBER, /* as it is written */
    PW_JSON_OTHER,  /* true, false, null, and what is no JSON: NaN, Infinity */
    PW_JSON_ARRAY,  /* as it is written */
    PW_JSON_OBJECT, /* its members follow, with `depth` one more; as it is written from depth 2 on
                     */
};

struct pw_json_item {
    const char *key, *text; /* no NUL at their ends */
    uint32_t key_length, length;
    uint8_t type, depth;
};

struct pw_json_object {
    struct pw_json_item items[PW_JSON_ITEMS];
    size_t n;
    int left_out; /* 1: it has more members than fit */
};

struct pw_json_parser;

struct pw_json_parser *pw_json_parser_create(void); /* NULL when memory is short */
void pw_json_parser_destroy(struct pw_json_parser *parser);

/* Reads the object that is text[0 .. length). What it points to is good until the next call. 0,
 * -EINVAL when it is none, or -ENOMEM. */
int pw_json_parse(struct pw_json_parser *parser, const char *text, size_t length,
                  struct pw_json_object *out);

#ifdef __cplusplus
}
#endif

/* The first item with this key at this depth, or NULL. */
const struct pw_json_item *pw_json_find(const struct pw_json_object *object, int depth,
                                        const char *key);

/* The first member with this key of an object that is a member itself, or NULL; also when `parent`
 * is NULL. */
const struct pw_json_item *pw_json_find_in(const struct pw_json_object *object,
                                           const struct pw_json_item *parent, const char *key);

/* Its text with a NUL, cut where it does not fit; "" when `item` is NULL. Returns `out`. */
const char *pw_json_copy(const struct pw_json_item *item, char *out, size_t size);

/* An integer that fits int64: 0, else -EINVAL. */
int pw_json_to_int(const struct pw_json_item *item, int64_t *out);

/* The integers of an array, at most `max`; how many, 0 when it is no array of integers. Texts that
 * hold one ("[0, 1]") are arrays, too. */
size_t pw_json_to_ints(const struct pw_json_item *item, int64_t *out, size_t max);

/* Elements of all tensors of "[[8, 3], [5]]"; scalars, "[]", are none. -1 when it is no such. */
int64_t pw_json_count_elements(const struct pw_json_item *dims);

/* The first quoted word of "["float", "int"]", and its length; 0 when there is none. */
size_t pw_json_first_text(const struct pw_json_item *texts, const char **out);

/* Decimal numbers of JSON as integers, without a double between: a time of 16 digits and three
 * decimals has more than a double holds. */

/* The number times 10^power, power in 0..18, what is below 1 rounded half away from zero. 0;
 * -EINVAL when the text is no decimal number; -ERANGE when the result is beyond 73 years of ns
 * (core/limits.h). */
int pw_decimal_scale(const char *text, size_t length, int power, int64_t *out);

#endif
