/* Deflates bytes that cannot be compressed, and bytes that can, and inflates them again. */
#include "unit.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "core/deflater.h"

enum { MOST = 1 << 18 };

static void check(int level, const char *bytes, size_t n)
{
    const size_t most = pw_deflater_bound(n);
    char *packed = malloc(most), *again = malloc(n + 1);
    struct pw_deflater *deflater = pw_deflater_create(level);
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    const size_t size = pw_deflater_run(deflater, bytes, n, packed, most);
    assert_in_range(size, 1, most);
    assert_int_equal(libdeflate_zlib_decompress(inflater, packed, size, again, n, NULL),
                     LIBDEFLATE_SUCCESS);
    assert_memory_equal(again, bytes, n);
    libdeflate_free_decompressor(inflater);
    pw_deflater_destroy(deflater);
    free(again);
    free(packed);
}

/* Room of the bound suffices at both levels that the HTML report uses. */
static void test_bound(void **state)
{
    static const size_t sizes[] = {0, 1, 300, 4096, 65535, 65536, MOST};
    uint64_t seed = 5;
    char *noise = malloc(MOST), *zeros = calloc(MOST, 1);
    (void)state;
    for (size_t i = 0; i < MOST; i++)
        noise[i] = (char)unit_random(&seed);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int level = 1; level <= 6; level += 5) {
            check(level, noise, sizes[i]);
            check(level, zeros, sizes[i]);
        }
    free(noise);
    free(zeros);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
