/* Reads plugstack.conf's words and puts commands together; see site.h. */
#include "site.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVEL_HIGHEST = 2, RANK_LEAST = 1 << 20 };

void pw_site_init(struct pw_site *site)
{
    *site = (struct pw_site){.level = LEVEL_HIGHEST, .merger = PW_MERGER_STEP};
    snprintf(site->state, sizeof(site->state), "/run/profwrap");
}

int64_t pw_site_size(const char *text)
{
    static const char units[] = "KMG";
    char *end;
    if (*text < '0' || *text > '9')
        return -1;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (errno || (*end && (!unit || end[1])) || value > INT64_MAX >> shift)
        return -1;
    return (int64_t)value << shift;
}

int pw_site_expand(const char *pattern, const char *user, const char *job, char *out, size_t size)
{
    size_t used = 0;
    for (const char *p = pattern; *p; p++) {
        const char *name = p[0] == '%' && p[1] == 'u'   ? user
                           : p[0] == '%' && p[1] == 'j' ? job
                                                        : NULL;
        size_t n = name ? strlen(name) : 1;
        if (p[0] == '%' && (p[1] == 'r' || p[1] == 'h'))
            return -EINVAL;
        if (used + n >= size)
            return -ENAMETOOLONG;
        memcpy(out + used, name ? name : p, n);
        used += n;
        p += name != NULL;
    }
    out[used] = '\0';
    return 0;
}

static int read_path(char out[PW_SITE_PATH], const char *value)
{
    if (value[0] != '/' || strlen(value) >= PW_SITE_PATH)
        return -EINVAL;
    strcpy(out, value);
    return 0;
}

static int read_size(int64_t *out, const char *value)
{
    int64_t size = pw_site_size(value);
    if (size >= 0)
        *out = size;
    return size < 0 ? -EINVAL : 0;
}

static int read_output(struct pw_site *site, const char *value)
{
    return read_path(site->output, value);
}

static int read_state(struct pw_site *site, const char *value)
{
    return read_path(site->state, value);
}

static int read_job_bytes(struct pw_site *site, const char *value)
{
    return read_size(&site->job_bytes, value);
}

static int read_free_bytes(struct pw_site *site, const char *value)
{
    return read_size(&site->free_bytes, value);
}

static int read_level(struct pw_site *site, const char *value)
{
    if (value[0] < '0' || value[0] > '0' + LEVEL_HIGHEST || value[1])
        return -EINVAL;
    site->level = value[0] - '0';
    return 0;
}

static int read_merger(struct pw_site *site, const char *value)
{
    static const char *const names[] = {"step", "epilog", "none"};
    for (int i = 0; i < 3; i++)
        if (strcmp(value, names[i]) == 0) {
            site->merger = (enum pw_merger)i;
            return 0;
        }
    return -EINVAL;
}

static int read_option(struct pw_site *site, const char *value)
{
    size_t used = strlen(site->options);
    if (!*value || used + strlen(value) + 2 > sizeof(site->options))
        return -EINVAL;
    snprintf(site->options + used, sizeof(site->options) - used, "%s%s", used ? " " : "", value);
    return 0;
}

static const struct setting {
    const char *name; /* with its = */
    int (*read)(struct pw_site *site, const char *value);
    const char *wanted;
} settings[] = {
    {"output=", read_output, "an absolute path"},
    {"state=", read_state, "an absolute path"},
    {"max-size=", read_job_bytes, "bytes, such as 20G"},
    {"min-free=", read_free_bytes, "bytes, such as 500M"},
    {"max-level=", read_level, "0, 1 or 2"},
    {"merge=", read_merger, "step, epilog or none"},
    {"option=", read_option, "an option of profwrap run, such as sample-hz=1"},
};

int pw_site_read(struct pw_site *site, const char *word, char note[PW_NOTE_SIZE])
{
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        size_t n = strlen(settings[i].name);
        if (strncmp(word, settings[i].name, n) != 0)
            continue;
        if (settings[i].read(site, word + n) == 0)
            return 0;
        snprintf(note, PW_NOTE_SIZE, "plugstack.conf has '%.80s', but %s takes %s", word,
                 settings[i].name, settings[i].wanted);
        return -EINVAL;
    }
    snprintf(note, PW_NOTE_SIZE, "plugstack.conf has '%.80s', which is no setting of this plugin",
             word);
    return -EINVAL;
}

struct builder {
    const struct pw_site *site;
    char *out, *note;
    size_t used;
    int has_level;
    int64_t rank_bytes;
};

static void add_word(struct builder *b, const char *word)
{
    size_t n = strlen(word);
    if (b->used + n + 2 > PW_COMMAND_SIZE) {
        snprintf(b->note, PW_NOTE_SIZE, "the options are too long");
        return;
    }
    b->used += (size_t)snprintf(b->out + b->used, PW_COMMAND_SIZE - b->used, "%s%s",
                                b->used ? " " : "", word);
}

static void add_level(struct builder *b, const char *value)
{
    char word[32];
    int level = value[0] >= '0' && value[0] <= '9' && !value[1] ? value[0] - '0' : -1;
    if (level > b->site->level) {
        snprintf(b->note, PW_NOTE_SIZE, "level %d is not allowed here: %d is used", level,
                 b->site->level);
        level = b->site->level;
    }
    b->has_level = 1;
    snprintf(word, sizeof(word), "--level=%.8s", value);
    if (level >= 0)
        snprintf(word, sizeof(word), "--level=%d", level);
    add_word(b, word);
}

/* The user's own limit counts where it is the lower one. */
static void take_size(struct builder *b, const char *value)
{
    int64_t size = pw_site_size(value);
    if (size > 0 && (!b->rank_bytes || size < b->rank_bytes))
        b->rank_bytes = size;
}

/* Options that would end the program before it begins, or that have another way. */
static int is_not_for_jobs(const char *name)
{
    static const char *const names[] = {"help", "version", "output"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    return 0;
}

static void add_option(struct builder *b, const char *name, const char *value)
{
    char word[PW_SITE_TEXT + 8];
    if (name[0] < 'a' || name[0] > 'z' ||
        name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")]) {
        snprintf(b->note, PW_NOTE_SIZE, "'%.80s' is no option of profwrap run: left out", name);
    } else if (is_not_for_jobs(name)) {
        snprintf(b->note, PW_NOTE_SIZE, "--%s is not for jobs%s: left out", name,
                 strcmp(name, "output") == 0 ? "; there is --profwrap-output" : "");
    } else if (strcmp(name, "level") == 0) {
        add_level(b, value ? value : "");
    } else if (strcmp(name, "max-file-size") == 0) {
        take_size(b, value ? value : "");
    } else {
        snprintf(word, sizeof(word), "--%s%s%s", name, value ? "=" : "", value ? value : "");
        add_word(b, word);
    }
}

/* Words are --NAME=VALUE, --NAME VALUE or --NAME, and may do without their dashes where they have a
 * value. None can become the program. */
static int add_options(struct builder *b, const char *text)
{
    char copy[PW_SITE_TEXT], *rest = copy;
    if (strlen(text) >= sizeof(copy)) {
        snprintf(b->note, PW_NOTE_SIZE, "the options are too long");
        return -EINVAL;
    }
    strcpy(copy, text);
    for (char *word = strtok_r(copy, " \t\n", &rest); word;) {
        char *next = strtok_r(NULL, " \t\n", &rest);
        char *value = strchr(word, '=');
        if (value) {
            *value++ = '\0';
        } else if (next && next[0] != '-' && !strchr(next, '=')) {
            value = next;
            next = strtok_r(NULL, " \t\n", &rest);
        }
        add_option(b, word + (strncmp(word, "--", 2) == 0 ? 2 : 0), value);
        word = next;
    }
    return 0;
}

int pw_site_command(const struct pw_site *site, const struct pw_request *request,
                    char out[PW_COMMAND_SIZE], char note[PW_NOTE_SIZE])
{
    struct builder b = {.site = site, .out = out, .note = note, .rank_bytes = request->rank_bytes};
    out[0] = note[0] = '\0';
    if (strpbrk(request->profwrap, " \t\n:")) {
        snprintf(note, PW_NOTE_SIZE, "there is a blank or colon in %.150s", request->profwrap);
        return -EINVAL;
    }
    add_word(&b, request->profwrap);
    add_word(&b, "run");
    add_word(&b, "--unprofiled-on-error");
    add_word(&b, site->merger == PW_MERGER_STEP ? "--summary" : "--no-merge");
    if (add_options(&b, site->options) || add_options(&b, request->options))
        return -EINVAL;
    if (!b.has_level && request->level)
        add_level(&b, request->level);
    if (b.rank_bytes) {
        char word[48];
        int64_t most = b.rank_bytes < RANK_LEAST ? RANK_LEAST : b.rank_bytes;
        snprintf(word, sizeof(word), "--max-file-size=%lld", (long long)most);
        add_word(&b, word);
    }
    add_word(&b, "--");
    return 0;
}
