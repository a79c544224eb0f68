/* The table of indices: items are found by key while the table grows, and after it was emptied. */
#include "unit.h"

#include "core/hash.h"

enum { ITEMS = 1000 };

static int is_same(const void *items, int32_t item, const void *key)
{
    return ((const int *)items)[item] == *(const int *)key;
}

/* Few hash values, so that most slots are wanted by several. */
static uint32_t poor(int key)
{
    return (uint32_t)key % 7;
}

static struct pw_hash_slot *find(const struct pw_hash *h, const int *keys, int key)
{
    return pw_hash_find(h, poor(key), is_same, keys, &key);
}

static void test_inserted_keys_are_found(void **state)
{
    (void)state;
    static int keys[ITEMS];
    struct pw_hash h = {0};
    for (int i = 0; i < ITEMS; i++) {
        keys[i] = 3 * i;
        assert_int_equal(pw_hash_reserve(&h), 0);
        struct pw_hash_slot *slot = find(&h, keys, keys[i]);
        assert_int_equal(slot->item, PW_HASH_NONE);
        pw_hash_take(&h, slot, poor(keys[i]), i);
    }
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(find(&h, keys, 3 * i)->item, i);
        assert_int_equal(find(&h, keys, 3 * i + 1)->item, PW_HASH_NONE);
    }
    pw_hash_clear(&h);
    assert_int_equal(find(&h, keys, 0)->item, PW_HASH_NONE);
    pw_hash_take(&h, pw_hash_free_slot(&h, poor(0)), poor(0), 0);
    assert_int_equal(find(&h, keys, 0)->item, 0);
    pw_hash_fini(&h);
}

static void test_mix_depends_on_values_and_order(void **state)
{
    (void)state;
    assert_true(pw_hash_mix(0, 1) != pw_hash_mix(0, 2));
    assert_true(pw_hash_mix(1, 0) != pw_hash_mix(0, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inserted_keys_are_found),
        cmocka_unit_test(test_mix_depends_on_values_and_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
