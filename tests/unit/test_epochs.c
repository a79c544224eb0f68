/* Which steps of a job with restarts were kept, and which directory an epoch has: by hand. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/figures/goodput.h"
#include "core/epochdir.h"
#include "core/h5/epochs.h"
#include "unit.h"

#define MS INT64_C(1000000)

/* A share in millionths. */
static int64_t ppm(double share)
{
    return (int64_t)(1e6 * share + 0.5);
}

/* Steps first .. first + n - 1 of 10 ms. */
static struct pw_epoch_steps steps_of(struct pw_epoch_step *v, int64_t first, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] = (struct pw_epoch_step){first + (int64_t)i, 10 * MS};
    return (struct pw_epoch_steps){.v = v, .n = n, .first = first, .is_whole = 1};
}

static void fill(struct pw_row_c_epoch *row, int64_t start_ms, int64_t ran_ms)
{
    *row = (struct pw_row_c_epoch){.start_unix_ns = start_ms * MS,
                                   .end_unix_ns = (start_ms + ran_ms) * MS,
                                   .ran_ns = ran_ms * MS};
}

/* 0-99, a checkpoint at 60, 60-79, a checkpoint at 70, 70-99. */
static void test_steps_after_a_checkpoint_are_repeated(void **state)
{
    (void)state;
    static struct pw_epoch_step v[3][100];
    struct pw_row_c_epoch rows[3];
    const struct pw_epoch_steps steps[3] = {steps_of(v[0], 0, 100), steps_of(v[1], 60, 20),
                                            steps_of(v[2], 70, 30)};
    fill(&rows[0], 1000, 1100);
    fill(&rows[1], 2400, 300);
    fill(&rows[2], 2800, 400);
    for (int i = 0; i < 3; i++)
        rows[i].steps = (int64_t)steps[i].n, rows[i].steps_ns = rows[i].steps * 10 * MS;
    pw_epochs_relate(rows, steps, 3);
    assert_int_equal(rows[0].kept_steps, 60);
    assert_int_equal(rows[1].kept_steps, 10);
    assert_int_equal(rows[2].kept_steps, 30);
    assert_int_equal(rows[0].restart_ns, 300 * MS);
    assert_int_equal(rows[1].restart_ns, 100 * MS);
    assert_int_equal(rows[2].restart_ns, -1);
    assert_int_equal(rows[1].begins_anew + rows[2].begins_anew, 0);
    const struct pw_cluster c = {.epochs = rows, .nepochs = 3};
    const struct pw_goodput g = pw_goodput_of(&c);
    assert_int_equal(g.wall_ns, 2200 * MS);
    assert_int_equal(g.kept_ns, 1000 * MS);
    assert_int_equal(g.restarts_ns, 400 * MS);
    assert_int_equal(ppm(g.least), 454545);
    assert_int_equal(ppm(g.most), 454545);
}

/* The end that made the launcher restart was seen 5 ms after the restart. */
static void test_an_end_seen_after_the_restart_was_before_it(void **state)
{
    (void)state;
    struct pw_row_c_epoch rows[2];
    const struct pw_epoch_steps steps[2] = {{.first = -1, .is_whole = 1},
                                            {.first = -1, .is_whole = 1}};
    fill(&rows[0], 1000, 205);
    fill(&rows[1], 1200, 100);
    pw_epochs_relate(rows, steps, 2);
    assert_int_equal(rows[0].ran_ns, 200 * MS);
    assert_int_equal(rows[0].restart_ns, 0);
}

/* Both epochs begin at 0: the second may have begun from a checkpoint, or not. */
static void test_numbers_from_the_beginning_give_a_range(void **state)
{
    (void)state;
    static struct pw_epoch_step v[2][100];
    struct pw_row_c_epoch rows[2];
    const struct pw_epoch_steps steps[2] = {steps_of(v[0], 0, 100), steps_of(v[1], 0, 50)};
    fill(&rows[0], 0, 1000);
    fill(&rows[1], 1500, 500);
    for (int i = 0; i < 2; i++)
        rows[i].steps = (int64_t)steps[i].n, rows[i].steps_ns = rows[i].steps * 10 * MS;
    pw_epochs_relate(rows, steps, 2);
    assert_int_equal(rows[0].kept_steps, 0);
    assert_int_equal(rows[1].kept_steps, 50);
    assert_int_equal(rows[1].begins_anew, 1);
    const struct pw_cluster c = {.epochs = rows, .nepochs = 2};
    const struct pw_goodput g = pw_goodput_of(&c);
    assert_int_equal(ppm(g.least), 250000);
    assert_int_equal(ppm(g.most), 750000);
}

/* An epoch that began no step lost nothing; of one with pauses it is not known. */
static void test_epochs_without_steps_and_with_pauses(void **state)
{
    (void)state;
    static struct pw_epoch_step v[2][100];
    struct pw_row_c_epoch rows[3];
    struct pw_epoch_steps steps[3] = {
        steps_of(v[0], 0, 100), {.first = -1, .is_whole = 1}, steps_of(v[1], 100, 50)};
    for (int i = 0; i < 3; i++)
        fill(&rows[i], 1000 * i, 900);
    pw_epochs_relate(rows, steps, 3);
    assert_int_equal(rows[0].kept_steps, 100);
    assert_int_equal(rows[1].kept_steps, 0);
    assert_int_equal(rows[2].kept_steps, 50);
    steps[0].is_whole = 0;
    pw_epochs_relate(rows, steps, 3);
    assert_int_equal(rows[0].kept_steps, -1);
    const struct pw_cluster c = {.epochs = rows, .nepochs = 3};
    assert_true(pw_goodput_of(&c).least < 0);
}

static void test_directories_of_epochs(void **state)
{
    (void)state;
    char dir[] = "/tmp/profwrap-epochs-XXXXXX", path[128], out[256], problem[PW_EPOCHDIR_PROBLEM];
    int epoch = -1;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(pw_epochdir_choose(dir, "", out, sizeof(out), problem), 0);
    assert_string_equal(out, dir);
    const char *const names[] = {"epoch-2", "epoch-10", "epoch-11x", "epoch-012", "epoch-0"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_int_equal(pw_epochdir_last(dir), 10);
    assert_int_equal(pw_epochdir_choose(dir, "", out, sizeof(out), problem), 0);
    assert_string_equal(strrchr(out, '/'), "/epoch-10");
    assert_int_equal(pw_epochdir_choose(dir, "0", out, sizeof(out), problem), 0);
    assert_string_equal(out, dir);
    snprintf(path, sizeof(path), "%s/epoch-2", dir);
    assert_int_equal(pw_epochdir_choose(path, "10", out, sizeof(out), problem), 0);
    assert_string_equal(strrchr(out, '/'), "/epoch-10");
    assert_int_equal(pw_epochdir_split(path, out, sizeof(out), &epoch), 0);
    assert_int_equal(epoch, 2);
    assert_string_equal(out, dir);
    const char *const bad[] = {"3", "x", "-1", "1 "};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(pw_epochdir_choose(dir, bad[i], out, sizeof(out), problem), -22);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        rmdir(path);
    }
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_after_a_checkpoint_are_repeated),
        cmocka_unit_test(test_an_end_seen_after_the_restart_was_before_it),
        cmocka_unit_test(test_numbers_from_the_beginning_give_a_range),
        cmocka_unit_test(test_epochs_without_steps_and_with_pauses),
        cmocka_unit_test(test_directories_of_epochs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
