/* Makes the plan of an import: finds the files in the paths that the user named, and reads their
 * heads. See plan.h. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/log.h"
#include "import/foreign.h"
#include "import/mindinsight/mindinsight_files.h"
#include "import/msprof/msprof.h"
#include "import/plan.h"
#include "import/ranknames.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Frees the text, unless there is room to keep it until the file is read. */
static void keep_text(struct pw_import_plan *plan, struct pw_import_file *file,
                      const struct pw_jsonfile_text *text)
{
    enum { MOST_KEPT = 32 << 20 };
    file->head.text = (struct pw_jsonfile_text){.bytes = NULL};
    if (!text->bytes || text->n > MOST_KEPT - plan->kept_texts) {
        free(text->bytes);
        return;
    }
    file->head.text = *text;
    plan->kept_texts += text->n;
}

static int look(struct pw_import_plan *plan, struct pw_import_file *file,
                const struct pw_import_wish *wish, char *problem, size_t size)
{
    int err = -EINVAL;
    char what[sizeof(file->head.problem)] = "";
    const struct pw_jsonfile_text text =
        pw_jsonfile_load(file->path); /* it is read several times */
    for (size_t i = 0; pw_import_format_borrow(i) && err == -EINVAL; i++) {
        const struct pw_import_format *format = pw_import_format_borrow(i);
        if (wish->format && wish->format != format)
            continue;
        pw_import_head_fini(&file->head);
        file->head.text = text;
        err = format->look(file->path, &file->head);
        file->format = format;
        if (!what[0])
            memcpy(what, file->head.problem, sizeof(what));
    }
    if (err == -EINVAL && wish->format && !what[0])
        snprintf(what, sizeof(what), "is not of the format %s", wish->format->name);
    keep_text(plan, file, &text);
    const char *foreign = err == -EINVAL || err == -ENOTSUP ? pw_foreign_file(file->path) : NULL;
    if (foreign)
        return pw_import_plan_fail(problem, size, err, file->path, foreign);
    if (err == -ENOTSUP)
        return pw_import_plan_fail(problem, size, err, file->path, file->head.problem);
    return err ? pw_import_plan_fail(problem, size, err, file->path, err == -EINVAL ? what : "")
               : 0;
}

static int add_file(struct pw_import_plan *plan, const char *path,
                    const struct pw_import_wish *wish, char *problem, size_t size)
{
    struct stat status;
    if (plan->nfiles == plan->capacity) {
        size_t capacity = plan->capacity ? 2 * plan->capacity : 16;
        struct pw_import_file *more = realloc(plan->files, capacity * sizeof(*more));
        if (!more)
            return pw_import_plan_fail(problem, size, -ENOMEM, path, "");
        plan->files = more;
        plan->capacity = capacity;
    }
    struct pw_import_file *file = &plan->files[plan->nfiles++];
    *file = (struct pw_import_file){.path = strdup(path)};
    if (!file->path)
        return pw_import_plan_fail(problem, size, -ENOMEM, path, "");
    if (stat(path, &status))
        return pw_import_plan_fail(problem, size, -errno, path, "");
    if (!S_ISREG(status.st_mode))
        return pw_import_plan_fail(problem, size, -EINVAL, path, "is no regular file");
    file->bytes = status.st_size;
    int err = look(plan, file, wish, problem, size);
    if (err)
        return err;
    if (file->head.problem[0])
        pw_import_plan_note(plan, "%s: %s", path, file->head.problem);
    if (wish->rank >= 0)
        file->head.job[0] = '\0';
    pw_debug(PW_LOG_IMPORT, 1, "%s: rank %lld, format %s", path, (long long)file->head.rank,
             file->format->name);
    pw_debug(PW_LOG_IMPORT, 2, "%s: the rank is known %s, the format by %s", path,
             file->head.rank >= 0 ? "as the file says" : "by its name or an option",
             wish->format ? "--format" : "the file's content");
    return 0;
}

static int is_trace(const struct dirent *entry)
{
    return pw_import_is_file(entry->d_name);
}

/* Whether the directory has a pickle: dumps of the Flight Recorder have any name that the user
 * chose, and end with the rank. */
static int has_pickle(const char *directory)
{
    DIR *dir = opendir(directory);
    int found = 0;
    char path[4200];
    for (const struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        if (pw_rank_of_end(entry->d_name) < 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        found = pw_flight_is_pickle(path);
    }
    if (dir)
        closedir(dir);
    return found;
}

static int fail_without_files(const char *path, char *problem, size_t size)
{
    char name[256], what[600];
    const char *foreign = has_pickle(path) ? NULL : pw_foreign_in(path, name);
    if (foreign)
        snprintf(what, sizeof(what), "has nothing to import; its file %s %s", name, foreign);
    else
        snprintf(what, sizeof(what), "%s",
                 has_pickle(path)
                     ? "has only pickles of the Flight Recorder; python3 -m profwrap.flight "
                       "FILE... converts them to JSON without running code in them"
                     : "has no .json, .json.gz, .jsonl and -pidN.log files, no *_ascend_ms or "
                       "*_ascend_pt directories, and no step_trace_raw_N_detail_time.csv");
    return pw_import_plan_fail(problem, size, -ENOENT, path, what);
}

/* Takes back the file that was added last. */
static void drop_last(struct pw_import_plan *plan)
{
    struct pw_import_file *file = &plan->files[--plan->nfiles];
    plan->kept_texts -= file->head.text.n;
    pw_import_file_fini(file);
}

/* ---- what msprof-analyze computed: beside profiles it is compared with them, else its ranks
 * become those of the plan ---- */

static int read_analysis(struct pw_import_plan *plan, const char *path, char *problem, size_t size)
{
    struct pw_msprof *m;
    if (plan->msprof)
        return pw_import_plan_fail(
            problem, size, -EINVAL, path,
            "is given beside another cluster_analysis_output: import one job at a time");
    const int err = pw_msprof_read(path, &m);
    if (!err) {
        plan->msprof = m;
        if (m->incomplete)
            pw_import_plan_note(plan,
                                "%s: %lld of its rows are left out, because their numbers are not "
                                "possible",
                                path, (long long)m->incomplete);
        return 0;
    }
    pw_import_plan_fail(
        problem, size, err, path,
        err != -ENOENT ? ""
        : m && m->problem[0]
            ? m->problem
            : "has neither cluster_step_trace_time.csv, cluster_communication.json, "
              "cluster_communication_matrix.json nor cluster_analysis.db with rows "
              "of ranks: give the profiles");
    pw_msprof_destroy(m);
    return err;
}

/* Copies the groups that a rank is in. 0 or -ENOMEM. */
static int copy_groups(const struct pw_msprof *m, struct pw_import_head *head)
{
    head->groups = calloc(m->ngroups + 1, sizeof(*head->groups));
    for (size_t i = 0; head->groups && i < m->ngroups; i++) {
        const struct pw_group *from = &m->groups[i];
        struct pw_group *to = &head->groups[head->ngroups];
        int is_member = 0;
        for (size_t k = 0; k < from->size; k++)
            is_member |= from->members[k] == head->rank;
        if (!is_member)
            continue;
        *to = *from;
        to->members = calloc(from->size, sizeof(*to->members));
        if (!to->members)
            return -ENOMEM;
        memcpy(to->members, from->members, from->size * sizeof(*to->members));
        head->ngroups++;
    }
    return head->groups ? 0 : -ENOMEM;
}

static int add_rank(struct pw_import_plan *plan, const char *path, int32_t rank)
{
    const struct pw_msprof *m = plan->msprof;
    struct pw_import_file *file = &plan->files[plan->nfiles++];
    *file = (struct pw_import_file){.path = strdup(path), .format = &pw_import_msprof};
    file->head =
        (struct pw_import_head){.rank = rank, .world_size = m->world_size, .first_ns = INT64_MAX};
    snprintf(file->head.backend, sizeof(file->head.backend), "msprof-analyze");
    for (size_t i = 0; i < m->nhosts; i++)
        if (m->hosts[i].rank == rank)
            snprintf(file->head.hostname, sizeof(file->head.hostname), "%.63s", m->hosts[i].name);
    return file->path ? copy_groups(m, &file->head) : -ENOMEM;
}

static int add_ranks(struct pw_import_plan *plan, const char *path, char *problem, size_t size)
{
    int32_t *ranks;
    const size_t n = pw_msprof_ranks(plan->msprof, &ranks);
    int err = n ? 0 : -ENOMEM;
    free(plan->files);
    plan->files = calloc(n + 1, sizeof(*plan->files));
    plan->capacity = plan->files ? n + 1 : 0;
    err = plan->files ? err : -ENOMEM;
    for (size_t i = 0; i < n && !err; i++)
        err = add_rank(plan, path, ranks[i]);
    free(ranks);
    if (err)
        return pw_import_plan_fail(problem, size, err, path, "");
    pw_import_plan_note(plan,
                        "%s: its %s are msprof-analyze's own sums, without events: the report's "
                        "sections msprof and hccl show them, and no other section has figures; to "
                        "have these, give the profiles",
                        path, plan->msprof->files);
    return 0;
}

/* Reads the directory, which is a cluster_analysis_output. 0, also if it cannot be compared: then a
 * note says why; or -errno, with one sentence in `problem`. */
static int add_analysis(struct pw_import_plan *plan, const char *directory,
                        const struct pw_import_wish *wish, char *problem, size_t size)
{
    if (!plan->nfiles && (wish->rank >= 0 || wish->format))
        return pw_import_plan_fail(
            problem, size, -EINVAL, directory,
            "has all ranks of a job, and is recognised by its name: give neither --rank nor "
            "--format");
    const int err = read_analysis(plan, directory, problem, size);
    if (err != -ENOENT || !plan->nfiles) {
        if (!err && plan->nfiles && plan->msprof->problem[0])
            pw_import_plan_note(plan, "%s: %s", directory, plan->msprof->problem);
        return err || plan->nfiles ? err : add_ranks(plan, directory, problem, size);
    }
    pw_import_plan_note(plan, "%s: it is not compared with the profiles", problem);
    *problem = '\0';
    return 0;
}

/* ---- directories ---- */

/* paths[0] is a profile's directory, paths[1] its file with the events. Adds that file; if it is
 * damaged, adds another one of the profile. */
static int add_profile(struct pw_import_plan *plan, const char *const paths[2],
                       const struct pw_import_wish *wish, char *problem, size_t size)
{
    const char *profile = paths[0], *file = paths[1];
    char other[PW_ASCEND_PATH];
    int err = add_file(plan, file, wish, problem, size);
    if (!err || err == -ENOMEM)
        return err;
    drop_last(plan);
    if (pw_ascend_other_file(profile, file, other, sizeof(other)) == 0) {
        pw_import_plan_note(plan, "%s: %s is read", problem, base_name(other));
        err = add_file(plan, other, wish, problem, size);
        if (err && err != -ENOMEM)
            drop_last(plan);
    }
    if (err && err != -ENOMEM)
        pw_import_plan_note(plan, "%s: it is not imported", problem);
    return err;
}

/* Adds all profiles. Those that are half written or damaged are left out with a note. */
static int add_profiles(struct pw_import_plan *plan, const struct pw_ascend_found *found,
                        const struct pw_import_wish *wish, char *problem, size_t size)
{
    char file[PW_ASCEND_PATH], remark[400] = "";
    size_t taken = 0;
    int damage = 0;
    for (size_t i = 0; i < found->n; i++) {
        if (pw_ascend_main_file(found->paths[i], file, sizeof(file), remark, sizeof(remark))) {
            pw_import_plan_note(plan, "%s %s: it is not imported", found->paths[i], remark);
            continue;
        }
        if (remark[0])
            pw_import_plan_note(plan, "%s: %s", found->paths[i], remark);
        const char *const paths[2] = {found->paths[i], file};
        const int err = add_profile(plan, paths, wish, problem, size);
        if (err == -ENOMEM)
            return err;
        taken += !err;
        damage = err ? err : damage;
    }
    if (taken) {
        *problem = '\0';
        return 0;
    }
    return damage ? damage : pw_import_plan_fail(problem, size, -ENOENT, found->paths[0], remark);
}

/* Files of MindInsight directories, one for each rank. */
static int add_files(struct pw_import_plan *plan, const struct pw_ascend_found *found,
                     const struct pw_import_wish *wish, char *problem, size_t size)
{
    int err = 0;
    for (size_t i = 0; i < found->n && !err; i++)
        err = add_file(plan, found->paths[i], wish, problem, size);
    return err;
}

/* Reads what is beside profiles, and says what is not read of it. */
static int add_others(struct pw_import_plan *plan, const char *path,
                      const struct pw_import_wish *wish, char *problem, size_t size)
{
    struct pw_ascend_found others;
    char analysis[PW_ASCEND_PATH];
    if (pw_msprof_find(path, analysis, sizeof(analysis)) == 0) {
        const int err = add_analysis(plan, analysis, wish, problem, size);
        if (err)
            return err;
    }
    if (pw_mindinsight_find(path, &others) == 0 && others.n)
        pw_import_plan_note(
            plan,
            "%s: its files of MindInsight, of %zu ranks, are not read, because there are profiles "
            "with ASCEND_PROFILER_OUTPUT, too; to read them, give %s",
            path, others.n, others.paths[0]);
    pw_ascend_found_fini(&others);
    return 0;
}

/* Files of a directory that are no traces, such as the config.json of a model, and why the first of
 * them is none, or the first one of a known tool. */
struct others {
    size_t n;
    const char *tool; /* of the file that `problem` is about */
    char names[400], problem[600];
};

static void note_other(struct others *others, const char *name, const char *tool,
                       const char *problem)
{
    char what[400];
    const size_t used = strlen(others->names);
    if (!others->n++ || (tool && !others->tool)) {
        snprintf(others->problem, sizeof(others->problem), "%s", problem);
        others->tool = tool;
    }
    snprintf(what, sizeof(what), "%s%s%s%s%s", used ? ", " : "", name, tool ? " (" : "",
             tool ? tool : "", tool ? ")" : "");
    if (used + strlen(what) + 6 < sizeof(others->names))
        strcat(others->names, what);
    else if (used && others->names[used - 1] != '.')
        strcat(others->names, ", ...");
}

/* Whether the names are the same but for their numbers. */
static int are_numbered(const char *a, const char *b)
{
    static const char digits[] = "0123456789";
    while (*a && *b) {
        const size_t n = strspn(a, digits), m = strspn(b, digits);
        if (!n != !m || (!n && *a != *b))
            return 0;
        a += n ? n : 1;
        b += n ? m : 1;
    }
    return *a == *b;
}

/* Refuses a file that was left out, if its name is that of an imported one, from files[first] on,
 * but for the numbers: it may be of a rank that did nothing. 0 or -EINVAL, with one sentence in
 * `problem`. */
static int refuse_numbered(const struct pw_import_plan *plan, size_t first, const char *file,
                           char *problem, size_t size)
{
    const char *like = NULL;
    for (size_t i = first; i < plan->nfiles; i++) {
        if (strcmp(plan->files[i].path, file) == 0)
            return 0;
        if (!like && are_numbered(base_name(file), base_name(plan->files[i].path)))
            like = base_name(plan->files[i].path);
    }
    if (!like)
        return 0;
    snprintf(problem, size,
             "%s: has no events of a format that is imported, but a name as %s, so it may be of a "
             "rank",
             file, like);
    return -EINVAL;
}

/* Adds the traces of a directory. A whole file that is something else is left out, since other
 * programs write JSON, too; a damaged one may be the trace of a rank, and is refused. */
static int add_traces(struct pw_import_plan *plan, const char *path,
                      const struct pw_import_wish *wish, char *problem, size_t size)
{
    struct others others = {0};
    struct dirent **entries;
    char file[4200];
    int err = 0;
    const size_t first = plan->nfiles;
    const int found = scandir(path, &entries, is_trace, alphasort);
    if (found < 0)
        return pw_import_plan_fail(problem, size, -errno, path, "");
    if (found == 0)
        err = fail_without_files(path, problem, size);
    const size_t n = (size_t)found;
    for (size_t i = 0; i < n && !err; i++) {
        snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
        const size_t before = plan->nfiles;
        err = add_file(plan, file, wish, problem, size);
        if (!err || plan->nfiles == before || !plan->files[before].head.is_other)
            continue;
        note_other(&others, entries[i]->d_name, plan->files[before].head.tool, problem);
        drop_last(plan);
        err = 0;
    }
    for (size_t i = 0; i < n && !err && others.n && !wish->format; i++) {
        snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
        err = refuse_numbered(plan, first, file, problem, size);
    }
    for (size_t i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    const size_t used = strlen(problem);
    if ((err == -EINVAL || err == -ENOTSUP) && n > 1)
        snprintf(problem + used, size - used,
                 "; to import the directory without it, move it away, or name the other files");
    if (err)
        return err;
    snprintf(problem, size, "%s", others.n == n ? others.problem : "");
    if (others.n && others.n < n)
        pw_import_plan_note(plan, "%s: left out, because they are not of %s%s: %s", path,
                            wish->format ? "the format " : "a format that is imported",
                            wish->format ? wish->format->name : "", others.names);
    return others.n == n ? -EINVAL : 0;
}

static int add_directory(struct pw_import_plan *plan, const char *path,
                         const struct pw_import_wish *wish, char *problem, size_t size)
{
    struct pw_ascend_found found;
    char file[4200];
    int err = pw_ascend_find(path, &found);
    if (!err && found.n)
        err = add_profiles(plan, &found, wish, problem, size);
    if (!err && found.n)
        err = add_others(plan, path, wish, problem, size);
    size_t profiles = found.n;
    pw_ascend_found_fini(&found);
    if (!err && !profiles) {
        err = pw_mindinsight_find(path, &found);
        err = err ? err : add_files(plan, &found, wish, problem, size);
        profiles = found.n;
        pw_ascend_found_fini(&found);
    }
    if (err || profiles)
        return err && !*problem ? pw_import_plan_fail(problem, size, err, path, "") : err;
    if (pw_msprof_find(path, file, sizeof(file)) == 0)
        return add_analysis(plan, file, wish, problem, size);
    return add_traces(plan, path, wish, problem, size);
}

static int add_path(struct pw_import_plan *plan, const char *path,
                    const struct pw_import_wish *wish, char *problem, size_t size)
{
    char analysis[PW_ASCEND_PATH];
    struct stat status;
    if (stat(path, &status))
        return pw_import_plan_fail(problem, size, -errno, path, "");
    if (pw_msprof_is(path) && pw_msprof_find(path, analysis, sizeof(analysis)) == 0)
        return add_analysis(plan, analysis, wish, problem, size);
    return S_ISDIR(status.st_mode) ? add_directory(plan, path, wish, problem, size)
                                   : add_file(plan, path, wish, problem, size);
}

int pw_import_plan_make(const struct pw_import_wish *wish, struct pw_import_plan *out,
                        char *problem, size_t size)
{
    int err = 0;
    *out = (struct pw_import_plan){0};
    /* what msprof-analyze computed is last: it is compared with profiles, if there are any */
    for (int is_last = 0; is_last < 2; is_last++)
        for (size_t i = 0; i < wish->npaths && !err; i++)
            if (pw_msprof_is(wish->paths[i]) == is_last)
                err = add_path(out, wish->paths[i], wish, problem, size);
    err = err ? err : pw_import_plan_check_job(out, problem, size);
    err = err ? err : pw_rank_names_find(out, wish, problem, size);
    err = err ? err : pw_import_plan_sort(out, problem, size);
    if (err)
        pw_import_plan_fini(out);
    return err;
}
