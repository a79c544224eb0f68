/* Compresses into zlib's format (RFC 1950), which HDF5's deflate filter and browsers read. Called
 * by h5/rowform.c and by the HTML report. Tool code, one thread for each deflater. */
#ifndef PW_CORE_DEFLATER_H
#define PW_CORE_DEFLATER_H

#include <stddef.h>

struct pw_deflater;

/* `level` is 1 to 9. Level 1 is made by ISA-L, where profwrap was built with it: on shuffled rows
 * it is eight times as fast as libdeflate, which makes the other levels, and the result a tenth
 * longer. NULL when memory is short. */
struct pw_deflater *pw_deflater_create(int level);

/* Lets ISA-L find only strings that were at most 2 bytes before. For bytes with much noise: longer
 * strings are rarely found in them, and their codes are longer than those of the bytes. */
void pw_deflater_find_near(struct pw_deflater *deflater);

/* Compresses `size` bytes to at most `most` bytes. Returns the size of the result, or 0 when it
 * would be longer. */
size_t pw_deflater_run(struct pw_deflater *deflater, const char *from, size_t size, char *to,
                       size_t most);

/* Returns a size that the result never exceeds. */
size_t pw_deflater_bound(size_t size);

void pw_deflater_destroy(struct pw_deflater *deflater);

#endif
