/* The list of sections; see section.h. */
#include "report/sections/section.h"

#include <errno.h>
#include <string.h>

#include "core/cluster.h"
#include "report/writing/json_row.h"
#include "report/writing/rowgrid.h"

extern const struct pw_section pw_section_job, pw_section_hang, pw_section_epochs,
    pw_section_completeness, pw_section_clocks, pw_section_parts, pw_section_steps,
    pw_section_phases, pw_section_operators, pw_section_flops, pw_section_gpu, pw_section_kernels,
    pw_section_collectives, pw_section_communicators, pw_section_hccl, pw_section_msprof,
    pw_section_aicore, pw_section_p2p, pw_section_stragglers, pw_section_whatif,
    pw_section_efficiency, pw_section_data_pipeline, pw_section_utilisation, pw_section_memory,
    pw_section_advice;

const struct pw_section *const pw_sections[] = {
    &pw_section_job,         &pw_section_hang,
    &pw_section_epochs,      &pw_section_completeness,
    &pw_section_clocks,      &pw_section_parts,
    &pw_section_steps,       &pw_section_phases,
    &pw_section_operators,   &pw_section_flops,
    &pw_section_gpu,         &pw_section_kernels,
    &pw_section_collectives, &pw_section_communicators,
    &pw_section_hccl,        &pw_section_msprof,
    &pw_section_aicore,      &pw_section_p2p,
    &pw_section_stragglers,  &pw_section_whatif,
    &pw_section_efficiency,  &pw_section_data_pipeline,
    &pw_section_utilisation, &pw_section_memory,
    &pw_section_advice,      NULL,
};

/* Returns the next word of the list at *at, *length bytes without spaces around it. *at moves past
 * the comma; after the last word it is NULL. */
static const char *next_word(const char **at, size_t *length)
{
    const char *word = *at + strspn(*at, " ");
    const char *comma = strchr(word, ',');
    *length = comma ? (size_t)(comma - word) : strlen(word);
    while (*length && word[*length - 1] == ' ')
        --*length;
    *at = comma ? comma + 1 : NULL;
    return word;
}

static bool is_named(const struct pw_section *section, const char *word, size_t length)
{
    return strlen(section->name) == length && strncmp(section->name, word, length) == 0;
}

int pw_section_is_wanted(const struct pw_section *section, const char *names)
{
    bool is_wanted = !names || !*names;
    for (const char *at = is_wanted ? NULL : names; at && !is_wanted;) {
        size_t length;
        const char *word = next_word(&at, &length);
        is_wanted = is_named(section, word, length);
    }
    return is_wanted;
}

static void describe_unknown(const char *word, size_t length, char *problem, size_t size)
{
    int shown = length < 40 ? (int)length : 40;
    int n = snprintf(problem, size, "there is no section '%.*s'; sections are", shown, word);
    for (size_t i = 0; pw_sections[i] && n > 0 && (size_t)n < size; i++)
        n += snprintf(problem + n, size - (size_t)n, "%s %s", i ? "," : "", pw_sections[i]->name);
}

int pw_report_sections_check(const char *list, char *problem, size_t size)
{
    for (const char *at = list && *list ? list : NULL; at;) {
        size_t length, i = 0;
        const char *word = next_word(&at, &length);
        while (pw_sections[i] && !is_named(pw_sections[i], word, length))
            i++;
        if (pw_sections[i])
            continue;
        describe_unknown(word, length, problem, size);
        return -EINVAL;
    }
    return 0;
}

struct pw_lack pw_section_lack(const struct pw_section *section, const struct pw_figures *figures)
{
    struct pw_lack lack = section->lacks ? section->lacks(figures) : (struct pw_lack){0};
    if (lack.how && figures->cluster->imported[0])
        lack.how = section->how_imported;
    return lack;
}

int pw_section_print(const struct pw_section *section, const struct pw_page *page)
{
    int err = 0;
    if (section->print)
        return section->print(page);
    for (size_t i = 0; section->tables[i] && !err; i++)
        err = pw_rowgrid_print_all(page, section->tables[i]);
    return err;
}

static json_t *table_rows(const struct pw_figures *figures, const struct pw_section *section)
{
    const struct pw_cluster_rows all = pw_cluster_rows(figures->cluster, section->tables[0]);
    return pw_json_rows(section->tables[0], all.rows, all.n);
}

static bool has_rows_as_key(const struct pw_section *section)
{
    return !section->keys[0].name && section->tables[0];
}

int pw_section_set_keys(const struct pw_section *section, const struct pw_figures *figures,
                        json_t *object)
{
    int bad = 0;
    for (const struct pw_section_key *key = section->keys; key->name; key++)
        bad |= json_object_set_new(object, key->name, key->make(figures));
    if (has_rows_as_key(section))
        bad |= json_object_set_new(object, section->name, table_rows(figures, section));
    return bad;
}

json_t *pw_section_key(const struct pw_figures *figures, const char *name)
{
    for (size_t i = 0; pw_sections[i]; i++) {
        for (const struct pw_section_key *key = pw_sections[i]->keys; key->name; key++)
            if (strcmp(key->name, name) == 0)
                return key->make(figures);
        if (has_rows_as_key(pw_sections[i]) && strcmp(pw_sections[i]->name, name) == 0)
            return table_rows(figures, pw_sections[i]);
    }
    return json_null();
}
