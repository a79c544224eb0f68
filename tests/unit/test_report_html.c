/* The HTML report as a file: what it holds, and that nothing from a cluster file gets out of its
 * place. What a browser makes of it is tests/html. */
#include "unit.h"

#include <errno.h>
#include <jansson.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ops.h"
#include "report/html/html_planes.h"
#include "report/html/html_series.h"
#include "report/report.h"
#include "test_report_make.h"

static void write_text(const char *path, const char *text)
{
    remove(path);
    unit_write(path, text, strlen(text), 0600);
}

/* A template of a few lines; the real one is the browser's. */
static void make_template(void **state, struct pw_report_options *options, char *d3)
{
    char path[UNIT_PATH];
    unit_path(path, state, "page.html");
    write_text(path, "<p nonce=\"NONCE\" class=\"NONCE\">\n<!-- put part.js -->\n"
                     "<!-- put data -->\n<!-- put planes -->\n<!-- put d3 -->\n");
    unit_path(path, state, "part.js");
    write_text(path, "PART\n");
    unit_path(d3, state, "d3.js");
    write_text(d3, "D3\n");
    *options = (struct pw_report_options){.page_dir = *state, .d3 = d3};
}

static char *html_of(void **state, const struct pw_cluster *c)
{
    char d3[UNIT_PATH];
    struct pw_report_options options;
    make_template(state, &options, d3);
    assert_int_equal(pw_report_html(unit_open_text(), c, &options), 0);
    return unit_close_text();
}

static json_t *data_of(const char *html)
{
    static const char begin[] = "id=\"data\">";
    const char *at = strstr(html, begin), *end = at ? strstr(at, "</script>") : NULL;
    assert_non_null(end);
    at += strlen(begin);
    json_error_t error;
    json_t *data = json_loadb(at, (size_t)(end - at), 0, &error);
    if (!data)
        fail_msg("%s", error.text);
    return data;
}

static int digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(digits, c);
    return at ? (int)(at - digits) : 0;
}

/* Unpacks what follows the mark, by another way than the page's. The caller frees it. */
static char *unpack_after(const char *html, const char *mark, size_t *size)
{
    enum { MOST = 1 << 20 };
    const char *at = strstr(html, mark);
    assert_non_null(at);
    at = strchr(at, '>') + 1;
    size_t n = strcspn(at, "<"), packed_size = n / 4 * 3;
    assert_int_equal(n % 4, 0);
    uint8_t *packed = malloc(packed_size + 1);
    for (size_t i = 0; i < n; i += 4) {
        unsigned group = (unsigned)(digit(at[i]) << 18 | digit(at[i + 1]) << 12 |
                                    digit(at[i + 2]) << 6 | digit(at[i + 3]));
        for (size_t b = 0; b < 3; b++)
            packed[i / 4 * 3 + b] = (uint8_t)(group >> (16 - 8 * b));
    }
    packed_size -= (at[n - 1] == '=') + (at[n - 2] == '=');
    char *text = malloc(MOST);
    struct libdeflate_decompressor *unpacker = libdeflate_alloc_decompressor();
    assert_int_equal(libdeflate_zlib_decompress(unpacker, packed, packed_size, text, MOST, size),
                     0);
    libdeflate_free_decompressor(unpacker);
    free(packed);
    return text;
}

static json_t *late_of(const char *html, const char *name)
{
    char mark[64];
    size_t size;
    snprintf(mark, sizeof(mark), "id=\"late-%s\">", name);
    char *text = unpack_after(html, mark, &size);
    json_t *value = json_loadb(text, size, JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    free(text);
    return value;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        n++;
    return n;
}

static void test_parts(void **state)
{
    struct pw_cluster *c = make_cluster(4, 12);
    add_straggler(c, straggler(1));
    add_tables(c);
    char *html = html_of(state, c);
    assert_has(html, "PART\n");
    assert_has(html, "D3\n");
    assert_has_not(html, "NONCE");
    assert_has_not(html, "<!-- put");
    assert_has(html, "id=\"plane-own\"");
    json_t *data = data_of(html), *job = json_object_get(data, "job");
    assert_has(json_string_value(json_object_get(job, "headline")), "Rank 1 on node-b held back");
    json_t *worst = json_array_get(json_object_get(data, "stragglers"), 0);
    assert_string_equal(json_string_value(json_object_get(worst, "phase_words")), "in backward");
    assert_int_equal(json_array_size(json_object_get(json_object_get(data, "ranks"), "rank")), 4);
    json_decref(data);
    free(html);
    pw_cluster_destroy(c);
}

/* Every name that a file can choose tries to leave its string, its element and its line. */
static void test_hostile_names(void **state)
{
    static const char attack[] = "</script><script>x()</script><img src=x onerror=x()>\xe2\x80\xa8";
    struct pw_cluster *c = make_cluster(2, 12);
    struct pw_row_c_straggler row = straggler(1);
    snprintf(row.hostname, sizeof(row.hostname), "%s", attack);
    snprintf(row.evidence, sizeof(row.evidence), "%s & \033[2J \xe2\x80\xae", attack);
    add_straggler(c, row);
    snprintf(c->command, sizeof(c->command), "<!-- put part.js -->\n%s", attack);
    snprintf(c->ranks[0].hostname, sizeof(c->ranks[0].hostname), "%s", attack);
    char *html = html_of(state, c);
    assert_int_equal(count(html, "<script"), count(html, "</script>"));
    assert_has_not(html, "<script>");
    assert_has_not(html, "<img");
    assert_int_equal(count(html, "PART"), 1);
    json_t *data = data_of(html), *worst = json_array_get(json_object_get(data, "stragglers"), 0);
    const char *evidence = json_string_value(json_object_get(worst, "evidence"));
    assert_has(evidence, "</script><script>x()</script><img src=x onerror=x()>? & ?[2J ?");
    json_decref(data);
    free(html);
    pw_cluster_destroy(c);
}

/* A communicator each: no more of them than a browser can show, and how many there are. */
static void test_many_communicators(void **state)
{
    struct pw_cluster *c = make_cluster(2, 12);
    size_t n = PW_HTML_COLLECTIVE_STATS + 5;
    free(c->collective_stats);
    c->collective_stats = calloc(n, sizeof(*c->collective_stats));
    c->ncollective_stats = n;
    for (size_t i = 0; i < n; i++)
        c->collective_stats[i] = (struct pw_row_c_collective_stat){.comm_uid = i,
                                                                   .op = PW_OP_Allreduce,
                                                                   .nranks = 2,
                                                                   .count = 1,
                                                                   .wait_mean_ns = (int64_t)i,
                                                                   .busbw_max = i == 0 ? 7e9 : 1e9};
    char *html = html_of(state, c);
    json_t *data = data_of(html), *rows = json_object_get(data, "collectives");
    json_t *totals = json_object_get(data, "collective_totals");
    assert_int_equal(json_array_size(rows), PW_HTML_COLLECTIVE_STATS);
    json_t *most = json_object_get(json_array_get(rows, 0), "wait_mean_ns");
    assert_int_equal(json_integer_value(most), n - 1);
    assert_int_equal(json_integer_value(json_object_get(totals, "rows")), n);
    assert_true(json_number_value(json_object_get(totals, "busbw_max")) == 7e9);
    json_decref(data);
    free(html);
    pw_cluster_destroy(c);
}

static void test_packed_keys(void **state)
{
    struct pw_cluster *c = make_cluster(2, 12);
    add_tables(c);
    c->np2p = 0;
    c->ncollectives = 3;
    c->collectives = calloc(3, sizeof(*c->collectives));
    for (int i = 0; i < 3; i++)
        c->collectives[i] = (struct pw_row_c_collective){.op = PW_OP_Allreduce,
                                                         .wait_ns = i == 1 ? 7 * MS : i,
                                                         .busbw = 1e9,
                                                         .complete = i != 1};
    char *html = html_of(state, c);
    json_t *list = late_of(html, "collective_list"), *operators = late_of(html, "operators");
    json_t *messages = late_of(html, "messages");
    assert_int_equal(json_integer_value(json_object_get(list, "total")), c->ncollectives);
    json_t *waits = json_object_get(list, "wait_ns"), *ops = json_object_get(list, "op");
    assert_int_equal(json_array_size(waits), c->ncollectives);
    assert_int_equal(json_array_size(ops), c->ncollectives);
    for (size_t i = 1; i < c->ncollectives; i++)
        assert_true(json_integer_value(json_array_get(waits, i - 1)) >=
                    json_integer_value(json_array_get(waits, i)));
    assert_string_equal(json_string_value(json_array_get(ops, 0)), "Allreduce");
    json_t *busbw = json_object_get(list, "busbw");
    assert_int_equal(json_integer_value(json_array_get(waits, 0)), 7 * MS);
    assert_true(json_is_null(json_array_get(busbw, 0)));
    assert_true(json_is_real(json_array_get(busbw, 1)));
    assert_true(json_is_null(operators));
    assert_string_equal(json_string_value(json_object_get(messages, "scope")), "ranks");
    json_decref(list);
    json_decref(operators);
    json_decref(messages);
    free(html);
    pw_cluster_destroy(c);
}

static double decode(uint16_t code, int shift)
{
    int n = code - 1, e = n >> 11;
    double m = e ? (double)(2048 + (n & 2047)) : (double)n;
    for (int i = 1; i < e; i++)
        m *= 2;
    return m * (double)(INT64_C(1) << shift);
}

static void test_encode(void **state)
{
    (void)state;
    assert_int_equal(pw_codes_of_value(-1, 0, 0), 0);
    assert_int_equal(pw_codes_of_value(0, 0, 0), 1);
    for (int64_t value = 1; value < INT64_C(4000000000000); value += value / 3 + 1) {
        double exact = decode(pw_codes_of_value(value, 0, 0), 0) / (double)value - 1;
        assert_true(exact < 1.0 / 4096 + 1e-9 && exact > -1.0 / 4096 - 1e-9);
        double rounded = decode(pw_codes_of_value(value, 0, 1), 0) / (double)value - 1;
        if (value > 2048)
            assert_true(rounded < 1.0 / 200 && rounded > -1.0 / 200);
    }
    assert_true(decode(pw_codes_of_value(INT64_MAX, 30, 0), 30) > 4e18);
    assert_int_equal(pw_codes_of_value(INT64_MAX, 0, 1), 65535);
}

/* Codes of many cells are those of single values, for short values and for all. */
static void test_encode_cells(void **state)
{
    (void)state;
    int64_t cells[PW_CODES_CELLS];
    struct pw_codes_bytes bytes;
    for (int i = 0; i < 8; i++) {
        const struct pw_codes_form form = {i & 1 ? 3 : 0, i >> 1 & 1, i >> 2};
        for (int64_t k = 0; k < PW_CODES_CELLS; k++)
            cells[k] = k % 5 == 0               ? -1 - k
                       : k < 64                 ? INT32_MAX - k
                       : k % 2 || form.is_short ? (k * k * 521) >> k % 20
                                                : (k * INT64_C(123456789123)) << k % 11;
        pw_codes_of_cells(cells, &form, &bytes);
        for (size_t k = 0; k < PW_CODES_CELLS; k++) {
            const size_t column = k / PW_CODES_RANKS, rank = k % PW_CODES_RANKS;
            assert_int_equal(bytes.high[rank][column] << 8 | bytes.low[rank][column],
                             pw_codes_of_value(cells[k], form.shift, form.is_rounded));
        }
    }
}

/* Checks every code of a plane against the cell that it stands for. */
static void check_plane(const struct pw_columns *columns, const char *html, const char *mark,
                        size_t offset, int shift)
{
    const size_t n = columns->figures->nranks * columns->count;
    size_t size;
    char *plane = unpack_after(html, mark, &size);
    int64_t *cells = calloc(columns->figures->nranks, sizeof(*cells));
    assert_int_equal(size, 2 * n);
    for (size_t k = 0; k < columns->count; k++) {
        pw_columns_fill(columns, PW_TABLE_c_step_trace, offset, k, cells);
        for (size_t r = 0; r < columns->figures->nranks; r++) {
            const size_t i = r * columns->count + k;
            assert_int_equal((uint8_t)plane[i] << 8 | (uint8_t)plane[n + i],
                             pw_codes_of_value(cells[r], shift, 0));
        }
    }
    free(cells);
    free(plane);
}

/* More ranks and columns than are encoded together; one plane has a value that needs a shift, and
 * one has no value. Columns of one step, and of three. */
static void check_planes(size_t nranks, size_t nsteps, size_t block)
{
    enum { SHIFT = 3 };
    struct pw_cluster *c = make_cluster(nranks, nsteps);
    struct pw_figures *figures;
    struct pw_columns columns;
    char *html = NULL;
    size_t size;
    for (size_t i = 0; i < nranks * nsteps; i++) {
        step_rows(c)[i].own_ns = i % 17 ? (int64_t)(i * i % 99991) : -1;
        step_rows(c)[i].wait_ns = (int64_t)(i * 7919);
        step_rows(c)[i].tail_ns = -1;
    }
    step_rows(c)[nranks * nsteps - 1].wait_ns = INT64_C(4095) << (29 + SHIFT);
    assert_int_equal(pw_figures_create(c, &figures), 0);
    pw_columns_init(figures, &columns);
    assert_int_equal(columns.block, block);
    FILE *out = open_memstream(&html, &size);
    assert_int_equal(pw_planes_write(out, &columns), 0);
    fclose(out);
    check_plane(&columns, html, "id=\"plane-own\" data-shift=\"0\"",
                offsetof(struct pw_row_c_step_trace, own_ns), 0);
    check_plane(&columns, html, "id=\"plane-wait\" data-shift=\"3\"",
                offsetof(struct pw_row_c_step_trace, wait_ns), SHIFT);
    assert_null(strstr(html, "plane-tail"));
    free(html);
    pw_figures_destroy(figures);
    pw_cluster_destroy(c);
}

static void test_planes(void **state)
{
    (void)state;
    check_planes(70, 45, 1);
    check_planes(2, 40000, 3);
}

static void test_many_steps(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(1, 40000);
    step_rows(c)[7].own_ns = 1140 * MS;
    step_rows(c)[8].own_ns = -1;
    struct pw_figures *figures;
    struct pw_columns columns;
    assert_int_equal(pw_figures_create(c, &figures), 0);
    pw_columns_init(figures, &columns);
    assert_int_equal(columns.block, 3);
    assert_int_equal(columns.count, 13334);
    const size_t own = offsetof(struct pw_row_c_step_trace, own_ns);
    int64_t cell = 0;
    pw_columns_fill(&columns, PW_TABLE_c_step_trace, own, 0, &cell);
    assert_int_equal(cell, 140 * MS);
    pw_columns_fill(&columns, PW_TABLE_c_step_trace, own, 2, &cell);
    assert_int_equal(cell, 640 * MS); /* of 140, 1140 and one that is not known */
    json_t *json = pw_columns_json(&columns);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "last"), 13333)),
                     39999);
    json_decref(json);
    pw_figures_destroy(figures);
    pw_cluster_destroy(c);
}

/* More ranks than a matrix shows are put together by host, or else in blocks. */
static void test_many_ranks(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(200, 3);
    struct pw_figures *figures;
    add_tables(c);
    c->p2p[1] = (struct pw_row_c_p2p){150, 3, 20, 1000, -1, 7, 5};
    assert_int_equal(pw_figures_create(c, &figures), 0);
    json_t *hosts = pw_traffic_messages(figures), *cells = json_object_get(hosts, "cells");
    assert_string_equal(json_string_value(json_object_get(hosts, "scope")), "hosts");
    assert_int_equal(json_array_size(json_object_get(hosts, "names")), 2);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(cells, "src"), 1)), 1);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(cells, "bytes"), 1)), 1000);
    json_decref(hosts);
    for (size_t r = 0; r < 200; r++)
        strcpy(c->ranks[r].hostname, "one");
    json_t *blocks = pw_traffic_messages(figures);
    assert_string_equal(json_string_value(json_object_get(blocks, "scope")), "blocks");
    assert_int_equal(json_array_size(json_object_get(blocks, "names")), 100);
    json_decref(blocks);
    pw_figures_destroy(figures);
    pw_cluster_destroy(c);
}

static void test_small_runs(void **state)
{
    static const size_t sizes[][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {3, 1}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct pw_cluster *c = make_cluster(sizes[i][0], sizes[i][1]);
        char *html = html_of(state, c);
        json_decref(data_of(html));
        free(html);
        pw_cluster_destroy(c);
    }
}

static void test_missing_parts(void **state)
{
    struct pw_cluster *c = make_cluster(2, 12);
    char path[UNIT_PATH], d3[UNIT_PATH], *text = NULL;
    struct pw_report_options options;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    make_template(state, &options, d3);
    unit_path(path, state, "part.js");
    assert_int_equal(remove(path), 0);
    assert_int_equal(pw_report_html(out, c, &options), -ENOENT);
    unit_path(path, state, "page.html");
    assert_int_equal(remove(path), 0);
    assert_int_equal(pw_report_html(out, c, &options), -ENOENT);
    fclose(out);
    free(text);
    out = fopen("/dev/full", "w");
    make_template(state, &options, d3);
    int err = pw_report_html(out, c, &options);
    assert_true(err == -EIO || fflush(out));
    fclose(out);
    pw_cluster_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_parts),           UNIT_IN_DIR(test_hostile_names),
        UNIT_IN_DIR(test_packed_keys),     UNIT_IN_DIR(test_many_communicators),
        cmocka_unit_test(test_encode),     cmocka_unit_test(test_encode_cells),
        cmocka_unit_test(test_many_steps), cmocka_unit_test(test_many_ranks),
        UNIT_IN_DIR(test_small_runs),      UNIT_IN_DIR(test_missing_parts),
        cmocka_unit_test(test_planes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
