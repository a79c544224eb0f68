/* Records in few bytes: whatever goes in comes out, and bytes that are none are refused. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rank/journal/journalform.h"

enum { N = 1024 };
static struct pw_record in[N], out[N];
static unsigned char bytes[N * PW_RECORD_CODE_MOST];

static size_t round_trip(size_t n)
{
    size_t size = pw_records_encode(in, n, bytes);
    assert_true(size <= n * PW_RECORD_CODE_MOST);
    memset(out, 0xee, sizeof(out));
    assert_int_equal(pw_records_decode(bytes, size, out, n), 0);
    assert_memory_equal(in, out, n * sizeof(in[0]));
    return size;
}

static void test_any_record_is_encoded_and_decoded(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < N; i++) {
            uint64_t *words = (uint64_t *)(void *)&in[i];
            for (int k = 0; k < 8; k++)
                words[k] = unit_random(&seed) % 4 ? unit_random(&seed) : UINT64_MAX;
        }
        round_trip(N);
    }
    round_trip(0);
    memset(in, 0xff, sizeof(in));
    round_trip(N);
}

/* The calls of a loop take a few bytes each: that is what it is for. */
static void test_a_loop_is_small(void **state)
{
    (void)state;
    uint64_t now = 1000000, seed = 1;
    for (size_t i = 0; i < N; i++) {
        uint64_t start = now + 2000 + unit_random(&seed) % 500,
                 end = start + 900 + unit_random(&seed) % 3000;
        in[i] = (struct pw_record){.start = start, .end = end, .type = PW_REC_COMM};
        in[i].op = i % 3 == 2 ? 7 : 9;
        in[i].comm.comm = i % 3 == 2;
        in[i].comm.seq = (uint32_t)(i / 3);
        in[i].comm.sent_bytes = 4096;
        now = end;
    }
    size_t size = round_trip(N);
    print_message("%.1f bytes a record\n", (double)size / N);
    assert_in_range(size, 2 * N, 10 * N);
}

static void test_other_bytes(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (size_t i = 0; i < 8; i++)
        in[i] = (struct pw_record){.start = i * 100, .end = i * 100 + 50, .type = PW_REC_RANGE};
    size_t size = pw_records_encode(in, 8, bytes);
    assert_int_equal(pw_records_decode(bytes, size, out, 9), -EBADMSG); /* too few */
    assert_int_equal(pw_records_decode(bytes, size, out, 7), -EBADMSG); /* some are left */
    assert_int_equal(pw_records_decode(bytes, size - 1, out, 8), -EBADMSG);
    assert_int_equal(pw_records_decode(bytes, 0, out, 1), -EBADMSG);
    for (int round = 0; round < 20000; round++) {
        size_t length = unit_random(&seed) % 200;
        unsigned char *exact = malloc(length + 1); /* so that a read beyond is seen */
        assert_non_null(exact);
        for (size_t i = 0; i < length; i++)
            exact[i] = (unsigned char)(unit_random(&seed) >> 13);
        pw_records_decode(exact, length, out, unit_random(&seed) % 32);
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_record_is_encoded_and_decoded),
        cmocka_unit_test(test_a_loop_is_small),
        cmocka_unit_test(test_other_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
