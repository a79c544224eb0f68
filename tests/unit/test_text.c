/* Quantities as text. */
#include "unit.h"

#include "core/text.h"

static void test_text_ns(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {{-1, "n/a"},
                 {0, "0 ns"},
                 {999, "999 ns"},
                 {1000, "1.0 us"},
                 {12345, "12.3 us"},
                 {123456, "123 us"},
                 {999499, "999 us"},
                 {999500, "1.0 ms"},
                 {18000000, "18.0 ms"},
                 {731000000, "731 ms"},
                 {2410000000, "2.41 s"},
                 {59900000000, "59.9 s"},
                 {INT64_C(600) * 1000000000, "10 min"},
                 {INT64_C(3720) * 1000000000, "1 h 02 min"},
                 {INT64_C(90060) * 1000000000, "25 h 01 min"}};
    char text[32];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(pw_text_ns(text, sizeof(text), cases[i].ns), cases[i].text);
    assert_string_equal(pw_text_ns(text, 4, 12345), "12."); /* cut, not overrun */
}

static void test_text_bytes_and_rates(void **state)
{
    (void)state;
    char text[32];
    assert_string_equal(pw_text_bytes(text, sizeof(text), -1), "n/a");
    assert_string_equal(pw_text_bytes(text, sizeof(text), 0), "0 B");
    assert_string_equal(pw_text_bytes(text, sizeof(text), 1023), "1023 B");
    assert_string_equal(pw_text_bytes(text, sizeof(text), 4096), "4.0 KiB");
    assert_string_equal(pw_text_bytes(text, sizeof(text), 3 << 19), "1.5 MiB");
    assert_string_equal(pw_text_bytes(text, sizeof(text), INT64_C(5) << 50), "5.0 PiB");
    assert_string_equal(pw_text_rate(text, sizeof(text), 0), "n/a");
    assert_string_equal(pw_text_rate(text, sizeof(text), -5), "n/a");
    assert_string_equal(pw_text_rate(text, sizeof(text), 0.0 / 0.0 * 1), "n/a");
    assert_string_equal(pw_text_rate(text, sizeof(text), 0.8e6), "800.0 kB/s");
    assert_string_equal(pw_text_rate(text, sizeof(text), 12.4e9), "12.4 GB/s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_ns),
        cmocka_unit_test(test_text_bytes_and_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
