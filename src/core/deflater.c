/* Chooses the library that compresses; see deflater.h. */
#include "core/deflater.h"

#include <endian.h>
#include <libdeflate.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef PROFWRAP_ISAL
#include <isa-l/igzip_lib.h>
#endif

struct pw_deflater {
    struct libdeflate_compressor *slow; /* NULL: ISA-L compresses */
#ifdef PROFWRAP_ISAL
    struct isal_zstream fast;
    int distance_bits; /* of the largest distance of a string; 0: that of the format */
    uint8_t fast_memory[ISAL_DEF_LVL1_DEFAULT];
#endif
};

static int is_fast(int level)
{
#ifdef PROFWRAP_ISAL
    return level == 1;
#else
    (void)level;
    return 0;
#endif
}

struct pw_deflater *pw_deflater_create(int level)
{
    struct pw_deflater *d = calloc(1, sizeof(*d));
    if (d && !is_fast(level))
        d->slow = libdeflate_alloc_compressor(level);
    if (d && !is_fast(level) && !d->slow) {
        free(d);
        return NULL;
    }
    return d;
}

void pw_deflater_find_near(struct pw_deflater *d)
{
#ifdef PROFWRAP_ISAL
    d->distance_bits = 1;
#else
    (void)d;
#endif
}

#ifdef PROFWRAP_ISAL
/* The format of zlib: a header, what deflate makes, and a checksum, most significant byte first. */
enum { ZLIB_HEADER = 2, ZLIB_CHECK = 4 };

static size_t run_raw(struct pw_deflater *d, const char *from, size_t size, char *to, size_t most)
{
    struct isal_zstream *z = &d->fast;
    isal_deflate_init(z);
    z->level = 1;
    z->hist_bits = (uint16_t)d->distance_bits;
    z->level_buf = d->fast_memory;
    z->level_buf_size = sizeof(d->fast_memory);
    z->gzip_flag = IGZIP_DEFLATE;
    z->end_of_stream = 1;
    z->flush = NO_FLUSH;
    z->next_in = (uint8_t *)(uintptr_t)from; /* it is only read */
    z->avail_in = (uint32_t)size;
    z->next_out = (uint8_t *)to;
    z->avail_out = (uint32_t)most;
    return isal_deflate(z) == COMP_OK && z->internal_state.state == ZSTATE_END ? z->total_out : 0;
}

/* libdeflate computes the checksum in half the time that ISA-L takes. */
static size_t run_fast(struct pw_deflater *d, const char *from, size_t size, char *to, size_t most)
{
    static const unsigned char header[ZLIB_HEADER] = {0x78, 0x01};
    if (size > UINT32_MAX || most > UINT32_MAX || most < ZLIB_HEADER + ZLIB_CHECK)
        return 0;
    const size_t raw = run_raw(d, from, size, to + ZLIB_HEADER, most - ZLIB_HEADER - ZLIB_CHECK);
    if (!raw)
        return 0;
    memcpy(to, header, sizeof(header));
    const uint32_t check = htobe32(libdeflate_adler32(1, from, size));
    memcpy(to + ZLIB_HEADER + raw, &check, sizeof(check));
    return ZLIB_HEADER + raw + ZLIB_CHECK;
}
#else
static size_t run_fast(struct pw_deflater *d, const char *from, size_t size, char *to, size_t most)
{
    (void)d, (void)from, (void)size, (void)to, (void)most;
    return 0;
}
#endif

size_t pw_deflater_run(struct pw_deflater *d, const char *from, size_t size, char *to, size_t most)
{
    return d->slow ? libdeflate_zlib_compress(d->slow, from, size, to, most)
                   : run_fast(d, from, size, to, most);
}

/* Both libraries store what they cannot compress, in blocks that add 5 bytes. */
size_t pw_deflater_bound(size_t size)
{
    enum { LEAST_BLOCK = 4096, BLOCK_HEADER = 5, ENDS = 256 };
    return size + (size / LEAST_BLOCK + 1) * BLOCK_HEADER + ENDS;
}

void pw_deflater_destroy(struct pw_deflater *d)
{
    if (d)
        libdeflate_free_compressor(d->slow);
    free(d);
}
