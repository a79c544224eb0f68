/* The sentences on the order of collectives. */
#include "unit.h"

#include <string.h>

#include "core/ops.h"
#include "core/tables.h"
#include "report/live/orderview.h"

static int32_t others[] = {2}, most[] = {0, 1, 3};

static struct pw_order_finding make(enum pw_callorder_kind kind)
{
    return (struct pw_order_finding){
        .comm_uid = 7,
        .comm_name = "tp",
        .source = PW_SOURCE_MPI,
        .others = others,
        .most = most,
        .nothers = 1,
        .nmost = 3,
        .agreed = 40,
        .differ = 48,
        .kind = kind,
        .seq = 41,
        .of_most = {.seq = 41, .op = PW_OP_Allreduce, .root = -1, .bytes = 8, .signature = 3},
        .of_others = {.seq = 41, .op = PW_OP_Allgather, .root = -1, .bytes = 8},
    };
}

static void check(const struct pw_order_finding *finding, const char *wanted)
{
    char text[PW_ORDER_TEXT];
    assert_string_equal(pw_order_write(finding, text, sizeof(text)), wanted);
}

static void test_kinds(void **state)
{
    struct pw_order_finding f = make(PW_CALLORDER_OTHER);
    (void)state;
    check(&f, "rank 2 called MPI_Allgather #41 on tp, where ranks 0-1,3 called MPI_Allreduce");
    f.kind = PW_CALLORDER_SKIPPED;
    check(&f, "rank 2 skipped MPI_Allreduce #41 on tp, which ranks 0-1,3 called, and went on to "
              "MPI_Allgather");
    f.kind = PW_CALLORDER_EXTRA;
    check(&f, "rank 2 called MPI_Allgather #41 on tp, which ranks 0-1,3 did not call");
    f.kind = PW_CALLORDER_LIKELY;
    check(&f, "rank 2 called MPI_Allgather #41 on tp, where ranks 0-1,3 called MPI_Allreduce, "
              "which it is likely to have skipped: before, MPI_Allgather came after it");
    f.kind = PW_CALLORDER_GAP;
    f.nmore = 2;
    check(&f, "rank 2 and ranks 0-1,3 made different collectives on tp, from #40 to #47; the first "
              "one is not known, because calls of them are not in the records; 2 more ranks differ "
              "from both");
}

static void test_what_differs(void **state)
{
    struct pw_order_finding f = make(PW_CALLORDER_OTHER);
    (void)state;
    f.of_others = f.of_most;
    f.of_others.bytes = 16;
    f.of_others.signature = 64 | 3;
    check(&f, "rank 2 called MPI_Allreduce #41 on tp with 16 bytes, ranks 0-1,3 with 8 bytes");
    f.of_others.bytes = f.of_most.bytes = -1; /* neither has ended */
    check(&f, "rank 2 called MPI_Allreduce #41 on tp, ranks 0-1,3 with another size");
    f.of_others.signature = 1;
    check(&f, "rank 2 called MPI_Allreduce #41 on tp with MPI_MAX, ranks 0-1,3 with MPI_SUM");
    f.of_others.root = 1;
    f.of_most.root = 0;
    check(&f, "rank 2 called MPI_Allreduce #41 on tp with root 1, ranks 0-1,3 with root 0");
}

static void test_json(void **state)
{
    struct pw_order_finding f = make(PW_CALLORDER_SKIPPED);
    (void)state;
    json_t *object = pw_order_json(&f);
    assert_non_null(object);
    assert_string_equal(json_string_value(json_object_get(object, "kind")), "skipped");
    assert_int_equal(json_integer_value(json_object_get(object, "seq")), 41);
    assert_int_equal(json_array_size(json_object_get(object, "other_ranks")), 3);
    const json_t *call = json_object_get(object, "other_call");
    assert_string_equal(json_string_value(json_object_get(call, "op")), "Allreduce");
    assert_string_equal(json_string_value(json_object_get(call, "reduction")), "MPI_SUM");
    json_decref(object);
    f.kind = PW_CALLORDER_GAP;
    f.of_most.op = f.of_others.op = PW_OP_None;
    object = pw_order_json(&f);
    assert_true(json_is_null(json_object_get(object, "call")));
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_what_differs),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
