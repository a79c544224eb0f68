/* Parses one JSON object into a flat list of its members, and reads their values. The formats call
 * it for each event that jsonfile.h finds in a file. jsonparser.cc parses with simdjson and throws
 * no exceptions; jsonobject.c reads single values. Texts do not end with a NUL; they are in the
 * caller's text or in the parser's memory. */
#ifndef PW_IMPORT_JSONOBJECT_H
#define PW_IMPORT_JSONOBJECT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes after a text that must be readable, and the most members that are kept of an object. */
enum { PW_JSON_PADDING = 64, PW_JSON_ITEMS = 256 };

enum pw_json_type {
    PW_JSON_TEXT,   /* without its quotes and escapes */
    PW_JSON_NUMBER, /* its JSON text */
    PW_JSON_OTHER,  /* true, false, null, and NaN and Infinity, which are not JSON */
    PW_JSON_ARRAY,  /* its JSON text */
    PW_JSON_OBJECT, /* at depth 0 the members follow as items of depth 1; deeper: its JSON text */
};

struct pw_json_item {
    const char *key, *text; /* without a NUL at the end */
    uint32_t key_length, length;
    uint8_t type, depth;
};

struct pw_json_object {
    struct pw_json_item items[PW_JSON_ITEMS];
    size_t n;
    int left_out; /* 1: the object has more members than PW_JSON_ITEMS */
};

struct pw_json_parser;

struct pw_json_parser *pw_json_parser_create(void); /* NULL when memory is short */
void pw_json_parser_destroy(struct pw_json_parser *parser);

/* Parses the object in text[0 .. length), which PW_JSON_PADDING readable bytes must follow. The
 * items are valid until the next call with this parser. Returns 0, -EINVAL when the text is not an
 * object, or -ENOMEM. */
int pw_json_parse(struct pw_json_parser *parser, const char *text, size_t length,
                  struct pw_json_object *out);

#ifdef __cplusplus
}
#endif

/* Returns the first item with this key at this depth, or NULL. */
const struct pw_json_item *pw_json_find(const struct pw_json_object *object, int depth,
                                        const char *key);

/* Returns the first member of the object `parent` with this key, or NULL; also NULL when `parent`
 * is. */
const struct pw_json_item *pw_json_find_in(const struct pw_json_object *object,
                                           const struct pw_json_item *parent, const char *key);

/* Copies an item's text to `out`, cut to its size, with a NUL; "" when `item` is NULL. Returns
 * `out`. */
const char *pw_json_copy(const struct pw_json_item *item, char *out, size_t size);

/* Reads an integer. Returns 0, or -EINVAL when the item is NULL or not an integer that fits
 * int64. */
int pw_json_to_int(const struct pw_json_item *item, int64_t *out);

/* Reads the integers of an array, or of a text such as "[0, 1]". Returns how many were read, at
 * most `max`; 0 when the item is not an array of integers. */
size_t pw_json_to_ints(const struct pw_json_item *item, int64_t *out, size_t max);

/* Returns the number of elements of all tensors whose shapes are listed, such as 29 for "[[8, 3],
 * [5]]". A scalar's shape, "[]", counts 0. Returns -1 when `dims` is not a list with shapes of
 * others. */
int64_t pw_json_count_elements(const struct pw_json_item *dims);

/* Sets *out to the first quoted word of a list such as "["float", "int"]" and returns its length; 0
 * when there is none. */
size_t pw_json_first_text(const struct pw_json_item *texts, const char **out);

/* Reads decimal numbers as integers and not through a double, which cannot hold a time of 16 digits
 * and three decimals. */

/* Sets *out to the number times 10^power, power in 0..18, rounded to the nearest integer, halves
 * away from zero. Returns 0; -EINVAL when the text is not a decimal number; -ERANGE when the result
 * is above PW_LIMIT (core/limits.h), 73 years in ns. */
int pw_decimal_scale(const char *text, size_t length, int power, int64_t *out);

#endif
