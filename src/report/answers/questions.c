/* The table of questions, and what all of them share: arguments, pages and problems; see answers.h.
 */
#include <stdio.h>
#include <string.h>

#include "core/tables.h"
#include "report/answers/answer.h"
#include "report/answers/answers.h"
#include "report/writing/json_row.h"

#define RANK_FILTER                                           \
    {                                                         \
        "rank", true, false, "only rows of this rank", "rank" \
    }
#define NAME_FILTER                                                          \
    {                                                                        \
        "name", false, false, "only rows with this text in the name", "name" \
    }
#define HOST_FILTER                                                                     \
    {                                                                                   \
        "host", false, false, "only rows with this text in the host's name", "hostname" \
    }

const struct pw_question pw_questions[] = {
    {.name = "verdict",
     .help = "What holds the job back, by how much and how sure that is; how it ended if not well; "
             "what to do first. Ask this first",
     .make = pw_answer_verdict},
    {.name = "losses",
     .help = "All losses of time, of whatever kind, the largest first",
     .make = pw_answer_losses},
    {.name = "rank",
     .help = "Why a rank is slow, or that it is not: causes with their evidence, and its times a "
             "step beside the median of the other ranks",
     .arguments = {{"rank", true, true, "the rank", NULL}},
     .example = "rank=3",
     .make = pw_answer_rank,
     .tables = {PW_TABLE_c_straggler, PW_TABLE_c_step_trace, PW_TABLE_c_phase_trace,
                PW_TABLE_c_ending, PW_TABLE_c_exception, PW_TABLE_c_open_call,
                PW_TABLE_c_utilisation, PW_TABLE_c_clock}},
    {.name = "step",
     .help = "One step: how long it took, and each rank's part of it",
     .arguments = {{"step", true, true, "the step", NULL}},
     .example = "step=10",
     .make = pw_answer_step,
     .tables = {PW_TABLE_c_step, PW_TABLE_c_step_trace}},
    {.name = "phase",
     .help = "The mean time of each rank in a phase of the steps, the longest first",
     .arguments = {{"phase", false, true, "data, forward, backward, allreduce, optimizer or other",
                    NULL}},
     .example = "phase=backward",
     .make = pw_answer_phase,
     .tables = {PW_TABLE_c_phase_trace}},
    {.name = "stragglers",
     .help = "Ranks that held the job back, with phase, cause, evidence and confidence (0 to 1)",
     .arguments = {RANK_FILTER, HOST_FILTER},
     .tables = {PW_TABLE_c_straggler}},
    {.name = "ledger",
     .help = "Where the time of the whole run went: start, MPI_Init, setup, steps, tail and end",
     .make = pw_answer_ledger},
    {.name = "collectives",
     .help =
         "Collective operations by communicator, name and size: waits, transfers, bus bandwidth",
     .arguments = {{"name", false, false, "only operations with this text in the name", "op"},
                   {"bytes_max", true, false, "only of this size: the column's value",
                    "bytes_max"}},
     .tables = {PW_TABLE_c_collective_stat},
     .order = "count"},
    {.name = "communicators",
     .help = "Which group of ranks waits, for how long and for whom",
     .tables = {PW_TABLE_c_communicator}},
    {.name = "links",
     .help = "Slow links: pairs of ranks whose messages take longer than those of other pairs",
     .tables = {PW_TABLE_c_link}},
    {.name = "messages",
     .help = "Messages from rank to rank: counts, bytes, late senders and receivers",
     .arguments = {{"src", true, false, "only from this rank", "src"},
                   {"dst", true, false, "only to this rank", "dst"}},
     .tables = {PW_TABLE_c_p2p},
     .order = "bytes"},
    {.name = "network",
     .help = "Stretches in which transfers were slow",
     .tables = {PW_TABLE_c_network}},
    {.name = "hosts",
     .help = "Hosts that are slow or were frozen",
     .arguments = {HOST_FILTER},
     .tables = {PW_TABLE_c_host}},
    {.name = "clocks",
     .help = "How well the ranks' clocks are aligned",
     .arguments = {RANK_FILTER},
     .tables = {PW_TABLE_c_clock}},
    {.name = "data_pipeline",
     .help = "Queues of data loaders: how full they were, and which ranks found them empty",
     .arguments = {RANK_FILTER},
     .tables = {PW_TABLE_c_queue}},
    {.name = "utilisation",
     .help = "CPU, I/O and faults of each rank, and what its host had to run beside it",
     .arguments = {RANK_FILTER},
     .tables = {PW_TABLE_c_utilisation}},
    {.name = "memory",
     .help = "Memory of each rank: peak, end, and growth a step",
     .arguments = {RANK_FILTER},
     .tables = {PW_TABLE_c_memory},
     .order = "peak_bytes"},
    {.name = "operators",
     .help = "Operators and functions, those with most self time first",
     .arguments = {NAME_FILTER},
     .tables = {PW_TABLE_c_operator},
     .order = "self_ns"},
    {.name = "kernels",
     .help = "GPU kernels, those with most time first",
     .arguments = {NAME_FILTER},
     .tables = {PW_TABLE_c_kernel},
     .order = "total_ns"},
    {.name = "gpus",
     .help = "GPUs by rank: busy, idle and communication",
     .arguments = {RANK_FILTER},
     .tables = {PW_TABLE_c_gpu_rank}},
    {.name = "whatif",
     .help = "How long the job would have taken without a rank's, host's or phase's excess",
     .tables = {PW_TABLE_c_whatif},
     .order = "gain_ns"},
    {.name = "critical_path",
     .help = "What the critical path of the run consists of",
     .tables = {PW_TABLE_c_path},
     .order = "path_ns"},
    {.name = "efficiency",
     .help = "Parallel efficiency and its factors (POP)",
     .tables = {PW_TABLE_c_efficiency}},
    {.name = "imbalances",
     .help = "Work that differs between ranks by design",
     .tables = {PW_TABLE_c_imbalance}},
    {.name = "trends",
     .help = "Steps in which all ranks were slower or paused",
     .tables = {PW_TABLE_c_trend}},
    {.name = "hang",
     .help = "Who waits in which call for whom, of a job that did not go on",
     .make = pw_answer_hang,
     .tables = {PW_TABLE_c_open_call, PW_TABLE_c_hang}},
    {.name = "completeness",
     .help = "What was recorded, what is not known, and how to get it",
     .make = pw_answer_completeness},
    {.name = "compare",
     .help = "What takes longer in a second run, and whether that is more than the steps' spread",
     .example = "other=another-profile",
     .make = pw_answer_compare},
    {.name = "columns",
     .help = "What the columns of the rows of a question are: type, unit, meaning, possible values",
     .arguments = {{"of", false, true, "a question", NULL}},
     .example = "of=links",
     .make = pw_answer_columns},
    {.name = "evidence",
     .help = "Whether a number is real: the rows of the file that an id stands for, their unit and "
             "meaning, and the command that prints them",
     .arguments = {{"id", false, true,
                    "an id, or id.column, of an answer; of one of compare with the same other",
                    NULL}},
     .example = "id=stragglers/0.gain_ns",
     .make = pw_answer_evidence},
    {.name = NULL},
};

bool pw_question_may_have_other(const struct pw_question *question)
{
    return strcmp(question->name, "compare") == 0 || strcmp(question->name, "evidence") == 0;
}

const struct pw_question *pw_question_find(const char *name)
{
    const struct pw_question *question = pw_questions;
    while (question->name && strcmp(question->name, name) != 0)
        question++;
    return question->name ? question : NULL;
}

/* ---- the columns of answers ---- */

static const char *type_of(const struct pw_field *field)
{
    const bool is_text = field->type >= PW_F_S16 && field->type <= PW_F_S512;
    if (field->type == PW_F_F64)
        return "number";
    return is_text || field->type == PW_F_U64 || field->type >= PW_F_OP ? "text" : "integer";
}

/* "a, b, c": what a column of an enumeration can be; null for others. */
static json_t *values_of(const struct pw_field *field)
{
    const struct pw_enum_item *item = pw_enum_borrow(field->type);
    char all[1024];
    size_t n = 0;
    all[0] = '\0';
    for (; item && item->name && n < sizeof(all); item++)
        n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", n ? ", " : "", item->name);
    return all[0] ? json_string(all) : json_null();
}

void pw_answer_columns(const struct pw_asked *asked, json_t *arguments, struct pw_answer *answer)
{
    (void)asked;
    const struct pw_question *of =
        pw_question_find(json_string_value(json_object_get(arguments, "of")));
    if (!of) {
        answer->problem = "there is no question of that name: 'profwrap ask' lists them";
        return;
    }
    for (const int *table = of->tables; table < of->tables + PW_QUESTION_TABLES && *table;
         table++) {
        const struct pw_table *info = pw_table_borrow(*table);
        for (size_t i = 0; i < info->nfields; i++) {
            const struct pw_field *field = &info->fields()[i];
            char key[PW_JSON_KEY];
            pw_answer_add(answer, NULL,
                          json_pack("{s:s, s:s, s:s, s:o, s:s, s:o}", "table", info->path + 1,
                                    "column", pw_json_key(field, key), "json_type", type_of(field),
                                    "unit", field->unit[0] ? json_string(field->unit) : json_null(),
                                    "meaning", field->meaning, "values", values_of(field)));
        }
    }
    if (of->tables[0])
        pw_answer_say(answer, "Rows of %s have these columns, without those that are not known.",
                      of->name);
    else
        pw_answer_say(
            answer,
            "Rows of %s are objects of the JSON report (docs/metrics.md); members that end "
            "in _ns are nanoseconds.",
            of->name);
}

/* ---- arguments and pages ---- */

static const struct pw_question_argument from_argument = {
    "from", true, false, "the first row of the page: `next_from` of the page before", NULL};

static const struct pw_question_argument *find_argument(const struct pw_question *question,
                                                        const char *name)
{
    const struct pw_question_argument *a = question->arguments;
    while (a->name && strcmp(a->name, name) != 0)
        a++;
    if (a->name)
        return a;
    return strcmp(name, from_argument.name) == 0 ? &from_argument : NULL;
}

static const char no_memory[] =
    "memory is short: use a machine with more of it, or raise PROFWRAP_READ_MEMORY";

/* Returns 0, or -1 with one sentence in `problem`. */
static int check(const struct pw_question *question, json_t *arguments,
                 char problem[PW_ANSWER_PROBLEM])
{
    const char *key;
    json_t *value;
    json_object_foreach(arguments, key, value)
    {
        const struct pw_question_argument *a = find_argument(question, key);
        const bool fits = a && (a->is_integer ? json_is_integer(value) : json_is_string(value));
        if (!fits) {
            if (a)
                snprintf(problem, PW_ANSWER_PROBLEM, "the argument '%s' of '%s' must be %s",
                         a->name, question->name, a->is_integer ? "an integer" : "a text");
            else
                snprintf(problem, PW_ANSWER_PROBLEM,
                         "'%s' has no argument '%.40s'; see its arguments", question->name, key);
            return -1;
        }
    }
    for (const struct pw_question_argument *a = question->arguments; a->name; a++)
        if (a->is_needed && !json_object_get(arguments, a->name)) {
            snprintf(problem, PW_ANSWER_PROBLEM, "'%s' needs the argument '%s': %s", question->name,
                     a->name, a->help);
            return -1;
        }
    return 0;
}

/* Leaves out rows at the end of the page until the answer is short enough: texts with many
 * characters that are not ASCII are longer as JSON. */
static void shorten(struct pw_answer *answer)
{
    const size_t flags = JSON_COMPACT | JSON_ENSURE_ASCII;
    size_t n = json_array_size(answer->rows);
    while (n > 1 && json_dumpb(answer->object, NULL, 0, flags) > PW_ANSWER_BYTES) {
        answer->is_failed |= json_array_remove(answer->rows, --n) != 0;
        pw_answer_set(answer, "next_from", json_integer(answer->from + (int64_t)n));
    }
    if (json_dumpb(answer->object, NULL, 0, flags) > PW_ANSWER_BYTES)
        answer->problem = "the answer is too long: ask for a part of it";
}

static void finish(struct pw_answer *answer)
{
    if (json_array_size(answer->rows) || answer->seen) {
        pw_answer_set(answer, "rows_total", json_integer(answer->seen));
        if (answer->from)
            pw_answer_set(answer, "from", json_integer(answer->from));
    }
    if (json_array_size(answer->rows))
        pw_answer_set(answer, "rows", json_incref(answer->rows));
    shorten(answer);
}

json_t *pw_ask(const struct pw_question *question, const struct pw_asked *asked,
               const struct pw_asked *other, json_t *arguments, char problem[PW_ANSWER_PROBLEM])
{
    if (check(question, arguments, problem))
        return NULL;
    struct pw_answer answer = {.other = other, .object = json_object(), .rows = json_array()};
    const int64_t from = json_integer_value(json_object_get(arguments, "from"));
    answer.from = from > 0 ? from : 0;
    pw_answer_set(&answer, "question", json_string(question->name));
    if (question->make)
        question->make(asked, arguments, &answer);
    else
        pw_answer_table(question, asked, arguments, &answer);
    finish(&answer);
    json_decref(answer.rows);
    if (!answer.problem && !answer.is_failed)
        return answer.object;
    snprintf(problem, PW_ANSWER_PROBLEM, "%s", answer.problem ? answer.problem : no_memory);
    json_decref(answer.object);
    return NULL;
}

static int add_property(json_t *properties, const struct pw_question_argument *a)
{
    return json_object_set_new(properties, a->name,
                               json_pack("{s:s, s:s}", "type", a->is_integer ? "integer" : "string",
                                         "description", a->help));
}

json_t *pw_question_schema(const struct pw_question *question)
{
    json_t *properties = json_object(), *needed = json_array();
    int bad = add_property(properties, &from_argument);
    for (const struct pw_question_argument *a = question->arguments; a->name; a++) {
        bad |= add_property(properties, a);
        if (a->is_needed)
            bad |= json_array_append_new(needed, json_string(a->name));
    }
    json_t *schema = bad ? NULL
                         : json_pack("{s:s, s:O, s:O, s:b}", "type", "object", "properties",
                                     properties, "required", needed, "additionalProperties", 0);
    json_decref(properties);
    json_decref(needed);
    return schema;
}
