/* Characters and their UTF-8. */
#ifndef PW_CORE_UTF8_H
#define PW_CORE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The most bytes of a character. */
enum { PW_UTF8_MOST = 4 };

/* Bytes of the valid character that the `length` bytes at `in` begin with (its code in *code), or 0
 * when they begin with none. `length` > 0. */
size_t pw_utf8_decode(const unsigned char *in, size_t length, uint32_t *code);

/* Writes a character, '?' for what is none; the bytes written. */
size_t pw_utf8_encode(uint32_t code, char out[PW_UTF8_MOST]);

/* Makes text valid where it is: each byte that is no part of a valid character becomes '?'. */
void pw_utf8_repair(char *text, size_t length);

#endif
