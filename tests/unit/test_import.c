/* What the readers of other tools' traces stand on: numbers without doubles, the ends of JSON
 * values, and sorting in bounded memory. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "import/parsers/jsonfile.h"
#include "import/parsers/jsonobject.h"
#include "import/trace/sorter.h"

static void test_decimal(void **state)
{
    static const struct {
        const char *text;
        int power;
        int64_t value;
    } right[] = {
        {"0", 3, 0},
        {"1.5", 3, 1500},
        {"1714556410123456.789", 3, 1714556410123456789}, /* a double would end in 768 */
        {"-2.5", 0, -3},                                  /* half away from zero */
        {"2.4999999999999999999", 0, 2},
        {"12e3", 0, 12000},
        {"12.34E-2", 3, 123}, /* 123.4 */
        {"1e-400", 9, 0},
        {".5", 1, 5},
        {"7.", 1, 70},
    };
    static const char *const wrong[] = {"",    "-",    ".",  "1.2.3", "1e",
                                        "1e+", "0x10", "1 ", "nan",   "--1"};
    int64_t value;
    (void)state;
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        value = -1;
        assert_int_equal(
            pw_decimal_scale(right[i].text, strlen(right[i].text), right[i].power, &value), 0);
        assert_int_equal(value, right[i].value);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(pw_decimal_scale(wrong[i], strlen(wrong[i]), 3, &value), -EINVAL);
    assert_int_equal(pw_decimal_scale("1e30", 4, 0, &value), -ERANGE);
    assert_int_equal(pw_decimal_scale("-9e18", 5, 3, &value), -ERANGE);
    assert_int_equal(pw_decimal_scale("123", 2, 0, &value), 0); /* so much of it, and no NUL */
    assert_int_equal(value, 12);
}

/* Ends of values, each followed by what may follow one, by blanks, and by nothing. */
/* Values that are longer than the blocks of 64 bytes in which they are scanned: quotes, escapes and
 * brackets at every place of a block. */
static void check_long_values(void)
{
    static const char inner[] = "[{\"]\": \"}\\\"]\\\\\"}, [\"[[\"]";
    char text[512];
    for (int before = 0; before < 130; before++)
        for (int after = 0; after < 70; after += 23) {
            memset(text, 0, sizeof(text));
            const int n =
                snprintf(text, sizeof(text), "{\"%*s\": %s%*s}", before, "", inner, after + 1, "]");
            assert_ptr_equal(pw_jsonscan_value(text, text + n), text + n);
            strcpy(text + n, ", {\"next\": [1]}, {\"next\": [1]}, {\"next\": [1]}, "
                             "{\"next\": [1]}, {\"next\": [1]}, {\"next\": [1]}");
            assert_ptr_equal(pw_jsonscan_value(text, text + strlen(text)), text + n);
            for (int cut = 1; cut < n; cut += 7)
                assert_null(pw_jsonscan_value(text, text + cut));
        }
}

static void test_json_values(void **state)
{
    static const char *const values[] = {"{}",
                                         "[]",
                                         "-1.5e3",
                                         "null",
                                         "\"\"",
                                         "\"a \\\" ] } \\\\\"",
                                         "{\"a\": [1, {\"]\": \"}\"}], \"b\\\\\": null}",
                                         "[[[[\"[\"]]]]",
                                         "\"0123456789abcdef0123456789abcdef\""};
    char text[128];
    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        const size_t length = strlen(values[i]);
        memset(text, 0, sizeof(text));
        snprintf(text, sizeof(text), "%s, 2]  ", values[i]);
        const char *end = text + strlen(text);
        assert_ptr_equal(pw_jsonscan_value(text, end), text + length);
        const int is_closed = strchr("]}\"", values[i][length - 1]) != NULL;
        for (size_t cut = 1; is_closed && cut < length; cut++)
            assert_null(pw_jsonscan_value(text, text + cut));
    }
    check_long_values();
    const char *blanks = strcpy(text, " \t\r\n x");
    assert_ptr_equal(pw_jsonscan_space(text, text + 6), blanks + 5);
    assert_ptr_equal(pw_jsonscan_space(text, text + 4), blanks + 4);
}

struct item {
    int64_t key[3];
    int64_t order;
};

enum { ITEMS = 200000 };

/* Few keys, so that many are alike; in memory for a hundredth of them, and for all. */
static void sorts(size_t memory)
{
    struct pw_sorter *sorter;
    uint64_t random = 88172645463325252u;
    assert_int_equal(pw_sorter_create(".", sizeof(struct item), memory, &sorter), 0);
    for (int64_t i = 0; i < ITEMS; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        const struct item item = {{(int64_t)(random % 100) - 50, (int64_t)(random >> 32) % 10, 0},
                                  i};
        pw_sorter_add(sorter, &item);
        if (i == ITEMS / 2)
            pw_sorter_park(sorter);
    }
    assert_int_equal(pw_sorter_count(sorter), ITEMS);
    assert_int_equal(pw_sorter_begin(sorter), 0);
    int64_t count = 0, sum = 0;
    struct item last = {{INT64_MIN, 0, 0}, 0};
    for (const struct item *item; (item = pw_sorter_next(sorter)); last = *item) {
        const int order = memcmp(last.key, item->key, sizeof(last.key)) == 0;
        assert_true(order ? last.order < item->order
                          : last.key[0] < item->key[0] ||
                                (last.key[0] == item->key[0] && last.key[1] < item->key[1]));
        sum += item->order;
        count++;
    }
    assert_int_equal(count, ITEMS);
    assert_int_equal(sum, (int64_t)ITEMS * (ITEMS - 1) / 2);
    assert_int_equal(pw_sorter_error(sorter), 0);
    pw_sorter_destroy(sorter);
}

static void test_sorter(void **state)
{
    (void)state;
    sorts(sizeof(struct item) * ITEMS / 100);
    sorts(sizeof(struct item) * ITEMS * 2);
}

/* Where no file can be made it says so, and not before it has to. */
static void test_sorter_without_files(void **state)
{
    struct pw_sorter *sorter;
    (void)state;
    assert_int_equal(pw_sorter_create("/is/not/there", sizeof(struct item), 1 << 16, &sorter), 0);
    for (int64_t i = 0; i < ITEMS; i++)
        pw_sorter_add(sorter, &(struct item){{-i, 0, 0}, i});
    assert_int_equal(pw_sorter_begin(sorter), -ENOENT);
    assert_null(pw_sorter_next(sorter));
    pw_sorter_destroy(sorter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decimal),
        cmocka_unit_test(test_json_values),
        cmocka_unit_test(test_sorter),
        cmocka_unit_test(test_sorter_without_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
