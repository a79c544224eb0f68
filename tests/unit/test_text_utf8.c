/* UTF-8: what is valid comes through, each byte of what is not becomes a question mark. */
#include "unit.h"

#include <string.h>

#include "core/text.h"

static void test_there_and_back(void **state)
{
    (void)state;
    static const uint32_t codes[] = {0x1,    0x7f,   0x80,   0x7ff,   0x800,
                                     0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        char bytes[PW_UTF8_MOST];
        uint32_t code = 0;
        size_t length = pw_utf8_encode(codes[i], bytes);
        assert_int_equal(pw_utf8_decode((unsigned char *)bytes, length, &code), length);
        assert_int_equal(code, codes[i]);
        if (length > 1)
            assert_int_equal(pw_utf8_decode((unsigned char *)bytes, length - 1, &code), 0);
    }
}

static void test_invalid_code_points_become_question_marks(void **state)
{
    (void)state;
    static const uint32_t codes[] = {0xd800, 0xdfff, 0x110000, 0xffffffff};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        char bytes[PW_UTF8_MOST];
        assert_int_equal(pw_utf8_encode(codes[i], bytes), 1);
        assert_int_equal(bytes[0], '?');
    }
}

static void test_repair(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"plain", "plain"},
        {"", ""},
        {"\xe2\x82\xac 5", "\xe2\x82\xac 5"},
        {"\xe2\x82", "??"},           /* cut inside a character */
        {"\xff\xfe", "??"},           /* no such bytes */
        {"a\x80z", "a?z"},            /* the middle of nothing */
        {"\xc0\xaf", "??"},           /* overlong */
        {"\xed\xa0\x80", "???"},      /* half of a surrogate pair */
        {"\xf4\x90\x80\x80", "????"}, /* beyond the last */
        {"\xe2\x28\xa1", "?(?"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[16];
        strcpy(text, rows[i][0]);
        pw_utf8_repair(text, strlen(text));
        assert_string_equal(text, rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_invalid_code_points_become_question_marks),
        cmocka_unit_test(test_repair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
