/* Builds the clusters of the report tests; see test_report_make.h. */
#include "test_report_make.h"

#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ops.h"
#include "report/report.h"

struct pw_cluster *make_cluster(size_t nranks, size_t nsteps)
{
    struct pw_cluster *c = calloc(1, sizeof(*c));
    strcpy(c->command, "./train --steps 50");
    strcpy(c->job_id, "42");
    c->nranks = (int64_t)nranks;
    c->nhosts = nranks > 1 ? 2 : 1;
    c->nsteps = (int64_t)nsteps;
    c->steps_inferred = 0;
    c->clock_error_max_ns = 12000;
    c->merge_processes = 1;
    c->nrank_rows = nranks;
    c->nstep_rows = nsteps;
    c->ranks = calloc(nranks + 1, sizeof(*c->ranks));
    c->steps = calloc(nsteps + 1, sizeof(*c->steps));
    c->step_trace = pw_cells_of_rows(
        PW_TABLE_c_step_trace, calloc(nranks * nsteps + 1, sizeof(struct pw_row_c_step_trace)),
        nsteps, nranks);
    c->phase_trace = pw_cells_of_rows(
        PW_TABLE_c_phase_trace, calloc(nranks * nsteps + 1, sizeof(struct pw_row_c_phase_trace)),
        nsteps, nranks);
    for (size_t r = 0; r < nranks; r++) {
        c->ranks[r] = (struct pw_row_c_rank){.rank = (int32_t)r,
                                             .present = 1,
                                             .complete = 1,
                                             .events = 5000,
                                             .clock_error_ns = 10000,
                                             .overhead_ns = MS,
                                             .run_ns = 7600 * MS};
        strcpy(c->ranks[r].hostname, r < (nranks + 1) / 2 ? "node-a" : "node-b");
    }
    for (size_t s = 0; s < nsteps; s++) {
        int64_t start = (int64_t)s * 150 * MS;
        c->steps[s] =
            (struct pw_row_c_step){.step = (int64_t)s,
                                   .start = start,
                                   .end = start + 150 * MS,
                                   .duration_ns = 150 * MS,
                                   .recorded = s < 2 ? PW_RECORDED_WARMUP : PW_RECORDED_ACTIVE};
    }
    for (size_t i = 0; i < nranks * nsteps; i++) {
        step_rows(c)[i] = (struct pw_row_c_step_trace){.interval_ns = 5 * MS,
                                                       .fp_bp_ns = 130 * MS,
                                                       .tail_ns = 15 * MS,
                                                       .total_ns = 150 * MS,
                                                       .compute_ns = 120 * MS,
                                                       .comm_ns = 30 * MS,
                                                       .comm_exposed_ns = 20 * MS,
                                                       .wait_ns = 10 * MS,
                                                       .data_wait_ns = MS,
                                                       .idle_ns = 0,
                                                       .own_ns = 140 * MS};
        phase_rows(c)[i] = (struct pw_row_c_phase_trace){.data_ns = 5 * MS,
                                                         .forward_ns = 40 * MS,
                                                         .backward_ns = 80 * MS,
                                                         .allreduce_ns = 5 * MS,
                                                         .optimizer_ns = 8 * MS,
                                                         .other_ns = 2 * MS};
    }
    return c;
}

struct pw_row_c_straggler straggler(int32_t rank)
{
    struct pw_row_c_straggler row = {
        .rank = rank,
        .hostname = "node-b",
        .kind = PW_STRAGGLER_PERSISTENT,
        .first_step = 4,
        .last_step = 50,
        .steps_hit = 41,
        .excess_ns = 18 * MS,
        .blame_ns = 5166 * MS,
        .critical_ns = 738 * MS,
        .gain_ns = 731 * MS,
        .slowdown = 0.12,
        .phase = PW_PHASE_BACKWARD,
        .cause = PW_CAUSE_BLOCKED_OFF_CPU,
        .confidence = 0.8,
        .evidence = "18.2 ms more off the CPU than the others, run queue empty"};
    return row;
}

void add_straggler(struct pw_cluster *c, struct pw_row_c_straggler row)
{
    c->stragglers = realloc(c->stragglers, (c->nstragglers + 1) * sizeof(*c->stragglers));
    c->stragglers[c->nstragglers++] = row;
    for (size_t s = 2; s < c->nstep_rows && row.rank < (int32_t)c->nrank_rows; s++) {
        step_rows(c)[s * c->nrank_rows + (size_t)row.rank].own_ns = 150 * MS;
        step_rows(c)[s * c->nrank_rows + (size_t)row.rank].wait_ns = 0;
        phase_rows(c)[s * c->nrank_rows + (size_t)row.rank].backward_ns = 98 * MS;
    }
}

void add_tables(struct pw_cluster *c)
{
    c->ncollective_stats = 3;
    c->collective_stats = calloc(3, sizeof(*c->collective_stats));
    c->collective_stats[0] = (struct pw_row_c_collective_stat){.op = PW_OP_Iallreduce,
                                                               .bytes_max = 1048575,
                                                               .nranks = 8,
                                                               .count = 250,
                                                               .bytes = 250 * INT64_C(786432),
                                                               .wait_mean_ns = 2 * MS,
                                                               .wait_p50_ns = MS,
                                                               .wait_p95_ns = 17 * MS,
                                                               .wait_max_ns = 21 * MS,
                                                               .transfer_mean_ns = 3 * MS,
                                                               .transfer_p50_ns = 3 * MS,
                                                               .transfer_p95_ns = 4 * MS,
                                                               .transfer_max_ns = 6 * MS,
                                                               .algbw_p50 = 262e6,
                                                               .busbw_mean = 450e6,
                                                               .busbw_p50 = 459e6,
                                                               .busbw_p95 = 600e6,
                                                               .busbw_max = 1.21e9,
                                                               .busbw_with_wait_p50 = 300e6};
    c->collective_stats[1] = (struct pw_row_c_collective_stat){.op = PW_OP_Barrier,
                                                               .nranks = 8,
                                                               .count = 3,
                                                               .wait_mean_ns = 8000,
                                                               .wait_p95_ns = 40 * MS,
                                                               .transfer_mean_ns = 9000,
                                                               .transfer_p50_ns = 9000,
                                                               .transfer_p95_ns = 15000,
                                                               .algbw_p50 = NAN,
                                                               .busbw_p50 = NAN,
                                                               .busbw_max = INFINITY};
    c->collective_stats[2] =
        (struct pw_row_c_collective_stat){.op = PW_OP_Reduce_scatter_block,
                                          .nranks = 100000,
                                          .count = 123456789,
                                          .bytes = 123456789 * INT64_C(1000000),
                                          .wait_mean_ns = -1,
                                          .wait_p95_ns = -1,
                                          .transfer_mean_ns = 1,
                                          .transfer_p50_ns = 4000 * INT64_C(1000000000),
                                          .transfer_p95_ns = 40000 * INT64_C(1000000000),
                                          .busbw_p50 = 123.4e9,
                                          .busbw_max = 456e9};
    c->np2p = 2;
    c->p2p = calloc(2, sizeof(*c->p2p));
    c->p2p[0] = (struct pw_row_c_p2p){0, 1, 10, 4096, 5000, -1, 20 * MS};
    c->p2p[1] = (struct pw_row_c_p2p){1, 0, 20, 1 << 20, MS, -1, 30 * MS};
    c->nefficiency = 1;
    c->efficiency = calloc(1, sizeof(*c->efficiency));
    *c->efficiency = (struct pw_row_c_efficiency){0.84, 0.93, -1, -1, -1, -1, -1};
}

void add_parts(struct pw_cluster *c)
{
    const int64_t ms[PW_PART_END] = {300, 50, 150, 150 * (int64_t)c->nstep_rows, 100, 20, 80};
    const size_t n = c->nrank_rows;
    c->part_trace = calloc(PW_PART_END * n + 1, sizeof(*c->part_trace));
    for (size_t i = 0; i < PW_PART_END * n; i++)
        c->part_trace[i].total_ns = ms[i / n] * MS;
}

char *text_of(const struct pw_cluster *c, const char *sections, int top)
{
    struct pw_report_options options = {.sections = sections, .top = top};
    assert_int_equal(pw_report_text(unit_open_text(), c, &options), 0);
    return unit_close_text();
}

char *json_of(const struct pw_cluster *c)
{
    struct pw_report_options options = {.sections = ""};
    assert_int_equal(pw_report_json(unit_open_text(), c, &options), 0);
    return unit_close_text();
}

void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

void assert_has_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("'%s' is in:\n%s", part, text);
}

void assert_fits(const char *text, size_t width)
{
    size_t columns = 0;
    for (const char *at = text; *at; at++) {
        unsigned char byte = (unsigned char)*at;
        assert_true(byte == '\n' || (byte >= 0x20 && byte != 0x7f));
        if (byte == '\n' && at > text)
            assert_true(at[-1] != ' ');
        columns = byte == '\n' ? 0 : columns + ((byte & 0xc0) != 0x80);
        if (columns > width)
            fail_msg("a line is too long: %.160s", at - columns + 1);
    }
}

void remove_rank(struct pw_cluster *c, size_t rank)
{
    c->ranks[rank].present = 0;
    c->ranks[rank].clock_error_ns = -1;
    c->ranks[rank].hostname[0] = '\0';
    for (size_t s = 0; s < c->nstep_rows; s++)
        memset(&step_rows(c)[s * c->nrank_rows + rank], 0xff, sizeof(struct pw_row_c_step_trace));
}
