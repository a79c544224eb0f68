/* Deflates bytes that cannot be compressed, and bytes that can, and inflates them again. */
#include "unit.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "core/deflater.h"

enum { MOST = 1 << 18 };

/* Returns the size of the deflated bytes. */
static size_t check(int level, int is_near, const char *bytes, size_t n)
{
    const size_t most = pw_deflater_bound(n);
    char *packed = malloc(most), *again = malloc(n + 1);
    struct pw_deflater *deflater = pw_deflater_create(level);
    if (is_near)
        pw_deflater_find_near(deflater);
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
    return size;
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
        for (int level = 1; level <= 6; level += 5)
            for (int is_near = 0; is_near < 2; is_near++) {
                check(level, is_near, noise, sizes[i]);
                check(level, is_near, zeros, sizes[i]);
            }
    free(noise);
    free(zeros);
}

/* Noise of few values: strings that are found by chance make it longer. */
static void test_near(void **state)
{
    uint64_t seed = 5;
    char *noise = malloc(MOST);
    (void)state;
    for (size_t i = 0; i < MOST; i++)
        noise[i] = (char)(unit_random(&seed) & 0xf0);
    assert_true(check(1, 1, noise, MOST) <= check(1, 0, noise, MOST));
    free(noise);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bound), cmocka_unit_test(test_near)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
