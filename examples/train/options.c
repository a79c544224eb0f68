/* Owns the command line: one row per option gives its name, its place, its limits and its help. */
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profwrap.h"

enum kind { FLAG, WHOLE, REAL, TEXT, INJECT };

struct row {
    const char *name;
    enum kind kind;
    size_t offset;   /* of the member in struct options */
    double min, max; /* WHOLE and REAL, both inclusive */
    const char *value;
    const char *help; /* NULL: for tests, not listed */
};

static const struct options defaults = {
    .steps = 50,
    .batch = 32,
    .hidden = 128,
    .seed = 1,
    .lr = 0.003,
    .data = "/usr/share/common-licenses",
};

#define AT(member) offsetof(struct options, member)

static const struct row rows[] = {
    {"--steps", WHOLE, AT(steps), 1, 1e9, "N", "training steps (50)"},
    {"--batch", WHOLE, AT(batch), 1, 65536, "N", "samples per rank and step (32)"},
    {"--hidden", WHOLE, AT(hidden), 1, 4096, "N", "width of the hidden layers (128)"},
    {"--seed", WHOLE, AT(seed), 0, 2147483647, "N", "of the weights and the batches (1)"},
    {"--lr", REAL, AT(lr), 1e-9, 10, "X", "learning rate of Adam (0.003)"},
    {"--data", TEXT, AT(data), 0, 0, "PATH",
     "text to learn: a file, or a directory of files (/usr/share/common-licenses)"},
    {"--pace", REAL, AT(pace), 0, 1e6, "MS",
     "make forward, backward and optimizer take MS each, by sleeping (0)"},
    {"--timing", FLAG, AT(timing), 0, 0, "", "print the seconds of the whole loop to stderr"},
    {"--inject", INJECT, AT(inject), 0, 0, "SPEC", "delay one rank, see below; repeatable"},
    {"--check-gradients", FLAG, AT(check_gradients), 0, 0, "", NULL},
    {"--help", FLAG, AT(help), 0, 0, "", "print this"},
};

#undef AT

enum { ROWS = sizeof rows / sizeof *rows };

void options_help(FILE *to)
{
    fputs("usage: mpirun -np N train [options]\n\n"
          "Trains a character-level language model, data-parallel over the ranks.\n\n",
          to);
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].help)
            fprintf(to, "  %-8s %-5s %s\n", rows[i].name, rows[i].value, rows[i].help);
    }
    fputs(
        "\nSPEC is rank=R,phase=P,ms=X[,steps=FIRST-LAST]: rank R sleeps X milliseconds in phase "
        "P\n"
        "(data, forward, backward or optimizer) of those steps, counted from 0; all if not given.\n"
        "  --inject rank=3,phase=backward,ms=20,steps=20-40\n",
        to);
}

static int parse_whole(const struct row *row, const char *text, int64_t *out, char *why,
                       size_t why_size)
{
    char *end = NULL;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    bool good =
        end != text && !*end && !errno && (double)number >= row->min && (double)number <= row->max;
    if (!good) {
        snprintf(why, why_size, "%s expects a whole number from %.0f to %.0f, not '%s'", row->name,
                 row->min, row->max, text);
        return -EINVAL;
    }
    *out = number;
    return 0;
}

static int parse_real(const struct row *row, const char *text, double *out, char *why,
                      size_t why_size)
{
    char *end = NULL;
    double number = strtod(text, &end);
    bool good = end != text && !*end && number >= row->min && number <= row->max;
    if (!good) {
        snprintf(why, why_size, "%s expects a number from %g to %g, not '%s'", row->name, row->min,
                 row->max, text);
        return -EINVAL;
    }
    *out = number;
    return 0;
}

static int parse_text(const struct row *row, const char *text, const char **out, char *why,
                      size_t why_size)
{
    if (!*text) {
        snprintf(why, why_size, "%s expects a %s, not an empty word", row->name, row->value);
        return -EINVAL;
    }
    *out = text;
    return 0;
}

static int parse_inject(const char *text, int nrank, struct inject_list *list, char *why,
                        size_t why_size)
{
    char part[160];
    static const char *const names[] = {
        [PROFWRAP_DATA] = "data",
        [PROFWRAP_FORWARD] = "forward",
        [PROFWRAP_BACKWARD] = "backward",
        [PROFWRAP_OPTIMIZER] = "optimizer",
    };
    static const struct inject_phases phases = {
        names,
        sizeof names / sizeof *names,
        "data, forward, backward or optimizer",
    };
    int err = inject_parse(list, text, &phases, nrank, part, sizeof part);
    if (err)
        snprintf(why, why_size, "--inject '%.80s': %s", text, part);
    return err;
}

static int store(const struct row *row, const char *text, int nrank, struct options *out, char *why,
                 size_t why_size)
{
    void *member = (char *)out + row->offset;
    switch (row->kind) {
    case FLAG:
        *(bool *)member = true;
        return 0;
    case WHOLE:
        return parse_whole(row, text, member, why, why_size);
    case REAL:
        return parse_real(row, text, member, why, why_size);
    case TEXT:
        return parse_text(row, text, member, why, why_size);
    case INJECT:
        return parse_inject(text, nrank, member, why, why_size);
    }
    return -EINVAL;
}

/* The row that `word` ("--name" or "--name=value") names, or NULL. */
static const struct row *find_row(const char *word)
{
    size_t length = strcspn(word, "=");
    for (size_t i = 0; i < ROWS; i++) {
        if (strlen(rows[i].name) == length && !strncmp(word, rows[i].name, length))
            return &rows[i];
    }
    return NULL;
}

/* An injection that can never happen is a mistake worth a word. */
static int check_injections(const struct options *options, char *why, size_t why_size)
{
    for (size_t i = 0; i < options->inject.count; i++) {
        int64_t first = options->inject.items[i].step_first;
        if (first >= options->steps) {
            snprintf(why, why_size,
                     "--inject steps= expects a first step up to %" PRId64 ", not %" PRId64,
                     options->steps - 1, first);
            return -EINVAL;
        }
    }
    return 0;
}

int options_parse(int argc, char **argv, int nrank, struct options *out, char *why, size_t why_size)
{
    *out = defaults;
    for (int i = 1; i < argc; i++) {
        const struct row *row = find_row(argv[i]);
        if (!row) {
            snprintf(why, why_size, "unknown option '%.80s'; --help lists those expected", argv[i]);
            return -EINVAL;
        }

        const char *text = strchr(argv[i], '=');
        if (text && row->kind == FLAG) {
            snprintf(why, why_size, "%s expects no value", row->name);
            return -EINVAL;
        }
        if (text) {
            text++;
        } else if (row->kind != FLAG) {
            text = ++i < argc ? argv[i] : NULL;
            if (!text) {
                snprintf(why, why_size, "%s expects a value: %s %s", row->name, row->name,
                         row->value);
                return -EINVAL;
            }
        }

        int err = store(row, text, nrank, out, why, why_size);
        if (err)
            return err;
    }
    return check_injections(out, why, why_size);
}
