/* Prints call stacks; see stackview.h. */
#include "report/live/stackview.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct pw_live_stack *pw_stackview_python(const struct pw_live *rank,
                                                const struct pw_live_thread *thread)
{
    for (size_t i = 0; thread && i < rank->nstacks; i++)
        if (rank->stacks[i].tid == thread->tid && rank->stacks[i].place[0])
            return &rank->stacks[i];
    return NULL;
}

/* 1 when no earlier rank has the same stack; equal stacks are printed once. */
static int is_first(const struct pw_live_view *view, size_t rank, size_t stack)
{
    const char *text = view->ranks[rank].stacks[stack].text;
    for (size_t r = 0; r <= rank; r++)
        for (size_t i = 0; i < view->ranks[r].nstacks; i++) {
            if (r == rank && i == stack)
                return 1;
            if (strcmp(view->ranks[r].stacks[i].text, text) == 0)
                return 0;
        }
    return 1;
}

static int has_stack(const struct pw_live *rank, const char *text)
{
    for (size_t i = 0; i < rank->nstacks; i++)
        if (strcmp(rank->stacks[i].text, text) == 0)
            return 1;
    return 0;
}

static int print_stack(const struct pw_live_view *view, const struct pw_page *page,
                       const char *text, int32_t *rows)
{
    char ranks[PW_LIVE_RANKS_TEXT];
    size_t n = 0;
    for (size_t r = 0; r < view->n; r++)
        if (has_stack(&view->ranks[r], text))
            rows[n++] = (int32_t)r;
    int err = pw_page_print(page, 2, 4, "%s", pw_live_ranks(view, rows, n, ranks, sizeof(ranks)));
    for (const char *at = text; *at && !err; at += at[0] == ';') {
        size_t length = strcspn(at, ";");
        err = pw_page_print(page, 6, 10, "%.*s", (int)length, at);
        at += length;
    }
    return err;
}

/* Why a rank has no stacks, or none of Python; "" when it has. */
static const char *problem_of(const struct pw_live *rank, int is_python)
{
    return is_python ? rank->python_problem : rank->stack_problem;
}

/* Prints a problem once for all ranks that have it. */
static int print_problems(const struct pw_live_view *view, const struct pw_page *page,
                          int is_python, int32_t *rows)
{
    char ranks[PW_LIVE_RANKS_TEXT];
    int err = 0;
    for (size_t r = 0; r < view->n && !err; r++) {
        const char *problem = problem_of(&view->ranks[r], is_python);
        size_t n = 0, first = 0;
        while (strcmp(problem_of(&view->ranks[first], is_python), problem) != 0)
            first++;
        if (!problem[0] || first < r)
            continue;
        for (size_t k = r; k < view->n; k++)
            if (strcmp(problem_of(&view->ranks[k], is_python), problem) == 0)
                rows[n++] = (int32_t)k;
        err = pw_page_print(page, 2, 4, "%s: no %s: %s",
                            pw_live_ranks(view, rows, n, ranks, sizeof(ranks)),
                            is_python ? "Python frames" : "call stacks", problem);
    }
    return err;
}

int pw_stackview_print(const struct pw_live_view *view, const struct pw_page *page)
{
    int64_t stopped_ns = 0;
    char time[32];
    int32_t *rows = malloc(sizeof(*rows) * (view->n + 1));
    for (size_t r = 0; r < view->n; r++)
        if (view->ranks[r].stopped_ns > stopped_ns)
            stopped_ns = view->ranks[r].stopped_ns;
    int err = rows ? 0 : -ENOMEM;
    if (!err)
        err = pw_page_print(page, 0, 2,
                            "Call stacks, outermost first (no program was stopped for longer than "
                            "%s)",
                            pw_live_time(stopped_ns, time, sizeof(time)));
    for (size_t r = 0; r < view->n; r++)
        for (size_t i = 0; i < view->ranks[r].nstacks && !err; i++)
            if (is_first(view, r, i))
                err = print_stack(view, page, view->ranks[r].stacks[i].text, rows);
    err = err ? err : print_problems(view, page, 0, rows);
    err = err ? err : print_problems(view, page, 1, rows);
    free(rows);
    return err;
}

int pw_stackview_has(const struct pw_live_view *view)
{
    for (size_t r = 0; r < view->n; r++)
        if (view->ranks[r].nstacks || view->ranks[r].stack_problem[0])
            return 1;
    return 0;
}
