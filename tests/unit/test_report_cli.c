/* `profwrap report`, over cluster files written to a directory. */
#include "unit.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/confine.h"
#include "core/h5/h5types.h"
#include "core/h5/h5writer.h"
#include "report/report.h"
#include "test_report_make.h"

/* What is given up is given up for ever: not by the tests, which go on. */
void pw_confine(uint64_t input_bytes, unsigned needs)
{
    (void)input_bytes, (void)needs;
}

static void append_rows(struct pw_h5_writer *writer, int table, const void *rows, size_t count)
{
    size_t size = pw_table_borrow(table)->row_size;
    pw_h5_writer_require(writer, table);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pw_h5_writer_append(writer, table, (const char *)rows + i * size), 0);
}

static void write_plane(hid_t file, int table, const void *rows, size_t nsteps, size_t nranks)
{
    hsize_t dims[2] = {nsteps, nranks};
    const struct pw_h5_form form = {2, dims, dims, 0, 1};
    hid_t dataset = pw_h5_create_table(file, pw_table_borrow(table), &form);
    assert_true(dataset >= 0);
    hid_t type = pw_h5_memory_type(pw_table_borrow(table));
    assert_true(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    H5Tclose(type);
    H5Dclose(dataset);
}

static void write_cluster(const char *path, const struct pw_cluster *c)
{
    struct pw_h5_writer *writer;
    assert_int_equal(pw_h5_writer_create(path, 1, &writer), 0);
    hid_t file = pw_h5_writer_borrow_file(writer);
    pw_format_stamp(file, PW_FORMAT_CLUSTER);
    pw_h5_set_text(file, "command", c->command);
    pw_h5_set_text(file, "job_id", c->job_id);
    pw_h5_set_int(file, "nranks", c->nranks);
    pw_h5_set_int(file, "nhosts", c->nhosts);
    pw_h5_set_int(file, "nsteps", c->nsteps);
    pw_h5_set_int(file, "steps_inferred", c->steps_inferred);
    pw_h5_set_int(file, "clock_error_max_ns", c->clock_error_max_ns);
    pw_h5_set_int(file, "merge_processes", c->merge_processes);
    append_rows(writer, PW_TABLE_c_rank, c->ranks, c->nrank_rows);
    append_rows(writer, PW_TABLE_c_step, c->steps, c->nstep_rows);
    append_rows(writer, PW_TABLE_c_collective_stat, c->collective_stats, c->ncollective_stats);
    append_rows(writer, PW_TABLE_c_p2p, c->p2p, c->np2p);
    append_rows(writer, PW_TABLE_c_straggler, c->stragglers, c->nstragglers);
    append_rows(writer, PW_TABLE_c_efficiency, c->efficiency, c->nefficiency);
    write_plane(file, PW_TABLE_c_step_trace, c->step_trace.rows, c->nstep_rows, c->nrank_rows);
    write_plane(file, PW_TABLE_c_phase_trace, c->phase_trace.rows, c->nstep_rows, c->nrank_rows);
    assert_int_equal(pw_h5_writer_close(writer), 0);
}

static char *slurp(const char *dir, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, in) > 0);
    fclose(in);
    return text;
}

static int run_report(const char *a, const char *b, const char *c)
{
    char *argv[] = {"report", (char *)(uintptr_t)a, (char *)(uintptr_t)b, (char *)(uintptr_t)c,
                    NULL};
    return pw_cli_report(a ? b ? c ? 4 : 3 : 2 : 1, argv);
}

static void remove_files(const char *dir)
{
    static const char *const names[] = {"cluster.h5", "report.txt",    "report.json", "report.html",
                                        "out.txt",    "rank-00000.h5", "d3.js"};
    char path[UNIT_PATH];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(dir), 0); /* and nothing else, such as NAME.part, is left */
}

static void test_round_trip(void **state)
{
    char *dir = *state, path[UNIT_PATH], out[UNIT_PATH];
    unit_path(path, state, "cluster.h5");
    snprintf(out, sizeof(out), "-o%s/out.txt", dir);
    struct pw_cluster *c = make_cluster(8, 52);
    add_tables(c);
    add_straggler(c, straggler(3));
    write_cluster(path, c);

    char *screen = NULL, *expected = text_of(c, "", PW_REPORT_TOP);
    size_t size;
    FILE *stream = open_memstream(&screen, &size);
    assert_int_equal(pw_cli_report_write(dir, stream, PW_SHOWN_FULL), 0);
    fclose(stream);
    assert_string_equal(screen, expected);
    char *text = slurp(dir, "report.txt"), *json = slurp(dir, "report.json");
    assert_string_equal(text, expected);
    json_t *root = json_loads(json, 0, NULL);
    assert_non_null(root);
    json_decref(root);
    free(text);

    assert_int_equal(run_report(out, path, NULL), 0);
    text = slurp(dir, "out.txt");
    assert_string_equal(text, expected);
    free(text);
    assert_int_equal(run_report(out, "--format=json", dir), 0);
    text = slurp(dir, "out.txt");
    assert_string_equal(text, json);
    free(text);
    free(json);
    free(screen);
    free(expected);
    pw_cluster_destroy(c);
    remove_files(dir);
}

/* With a D3 of the user's, which --d3 or the environment names. */
static void test_html(void **state)
{
    char *dir = *state, path[UNIT_PATH], d3[UNIT_PATH], out[UNIT_PATH], option[UNIT_PATH + 16];
    struct pw_cluster *c = make_cluster(8, 52);
    write_cluster(unit_path(path, state, "cluster.h5"), c);
    pw_cluster_destroy(c);
    unit_path(d3, state, "d3.js");
    snprintf(out, sizeof(out), "-o%s/out.txt", dir);
    snprintf(option, sizeof(option), "--d3=%s", d3);
    setenv("PROFWRAP_FORMAT", "html", 1);
    assert_int_equal(run_report(out, option, dir), 1); /* no such file */
    static const char *const wrong[] = {"// https://d3js.org v4.13.0", "no library",
                                        "// d3js.org v7.0.0\n</script>"};
    for (size_t i = 0; i < 3; i++) {
        unit_write(d3, wrong[i], strlen(wrong[i]), 0600);
        assert_int_equal(run_report(out, option, dir), 1);
        assert_int_equal(unlink(d3), 0);
    }
    static const char right[] = "// https://d3js.org v7.0.0 of the test";
    unit_write(d3, right, strlen(right), 0600);
    assert_int_equal(run_report(out, option, dir), 0);
    char *html = slurp(dir, "out.txt");
    assert_has(html, right);
    free(html);
    unsetenv("PROFWRAP_FORMAT");
    setenv("PROFWRAP_D3", d3, 1);
    assert_int_equal(pw_cli_report_write(dir, NULL, 0), 0);
    html = slurp(dir, "report.html");
    assert_has(html, right);
    free(html);
    unsetenv("PROFWRAP_D3");
    remove_files(dir);
}

static void test_command_errors(void **state)
{
    char *dir = *state, path[UNIT_PATH];
    unit_path(path, state, "rank-00000.h5");
    assert_int_equal(run_report(NULL, NULL, NULL), 2);
    assert_int_equal(run_report("--nonsense", dir, NULL), 2);
    assert_int_equal(run_report("--format", "pdf", dir), 2);
    assert_int_equal(run_report("--section=nonsense", dir, NULL), 2);
    assert_int_equal(run_report(dir, dir, NULL), 2);
    assert_int_equal(run_report(dir, NULL, NULL), 1);
    assert_int_equal(run_report("/nonexistent/directory", NULL, NULL), 1);
    FILE *rank = fopen(path, "w");
    fputs("this is no HDF5 file", rank);
    fclose(rank);
    assert_int_equal(run_report(dir, NULL, NULL), 1);
    assert_int_equal(run_report(path, NULL, NULL), 1);
    assert_int_equal(pw_cli_report_write(dir, NULL, 0), -2);
    remove_files(dir);
}

/* The test has removed the directory itself, and looked that nothing was left in it. */
static int forget_dir(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, unit_dir_create, forget_dir),
        cmocka_unit_test_setup_teardown(test_html, unit_dir_create, forget_dir),
        cmocka_unit_test_setup_teardown(test_command_errors, unit_dir_create, forget_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
