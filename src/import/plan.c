/* Reads the heads of files, and sorts the files by rank and time; see plan.h. */
#include "import/plan.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/log.h"
#include "core/readlimit.h"
#include "core/sort.h"
#include "import/mindinsight_profile.h"
#include "import/msprof.h"
#include "import/plananalysis.h"
#include "import/plancheck.h"
#include "import/ranknames.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int fail(char *problem, size_t size, int err, const char *path, const char *what)
{
    snprintf(problem, size, "%s: %s", path, what && *what ? what : pw_readlimit_error(err));
    return err;
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
    keep_text(plan, file, &text);
    if (err == -ENOTSUP)
        return fail(problem, size, err, file->path, file->head.problem);
    return err ? fail(problem, size, err, file->path, err == -EINVAL ? what : "") : 0;
}

void pw_import_plan_note(struct pw_import_plan *plan, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (plan->nnotes < sizeof(plan->notes) / sizeof(plan->notes[0]))
        vsnprintf(plan->notes[plan->nnotes], sizeof(plan->notes[0]), format, arguments);
    plan->nnotes++;
    va_end(arguments);
}

static int add_file(struct pw_import_plan *plan, const char *path,
                    const struct pw_import_wish *wish, char *problem, size_t size)
{
    struct stat status;
    if (plan->nfiles == plan->capacity) {
        size_t capacity = plan->capacity ? 2 * plan->capacity : 16;
        struct pw_import_file *more = realloc(plan->files, capacity * sizeof(*more));
        if (!more)
            return fail(problem, size, -ENOMEM, path, "");
        plan->files = more;
        plan->capacity = capacity;
    }
    struct pw_import_file *file = &plan->files[plan->nfiles++];
    *file = (struct pw_import_file){.path = strdup(path)};
    if (!file->path)
        return fail(problem, size, -ENOMEM, path, "");
    if (stat(path, &status))
        return fail(problem, size, -errno, path, "");
    if (!S_ISREG(status.st_mode))
        return fail(problem, size, -EINVAL, path, "is no regular file");
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

static const char *why_nothing(const char *path)
{
    return has_pickle(path)
               ? "has only pickles of the Flight Recorder; python3 -m profwrap.flight FILE... "
                 "converts them to JSON without running code in them"
               : "has no .json, .json.gz, .jsonl and -pidN.log files, no *_ascend_ms or "
                 "*_ascend_pt directories, and no step_trace_raw_N_detail_time.csv";
}

static void free_file(struct pw_import_file *file)
{
    pw_import_head_fini(&file->head);
    free(file->head.text.bytes);
    free(file->path);
}

/* Takes back the file that was added last. */
static void drop_last(struct pw_import_plan *plan)
{
    struct pw_import_file *file = &plan->files[--plan->nfiles];
    plan->kept_texts -= file->head.text.n;
    free_file(file);
}

/* Adds the file of a profile that has its events, or another one if that is damaged; paths of both.
 */
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

/* Of profiles that are half written or damaged only the others are taken. */
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
    return damage ? damage : fail(problem, size, -ENOENT, found->paths[0], remark);
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
        const int err = pw_import_plan_add_analysis(plan, analysis, wish, problem, size);
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

static int add_directory(struct pw_import_plan *plan, const char *path,
                         const struct pw_import_wish *wish, char *problem, size_t size)
{
    struct dirent **entries;
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
        return err && !*problem ? fail(problem, size, err, path, "") : err;
    if (pw_msprof_find(path, file, sizeof(file)) == 0)
        return pw_import_plan_add_analysis(plan, file, wish, problem, size);
    int n = scandir(path, &entries, is_trace, alphasort);
    if (n < 0)
        return fail(problem, size, -errno, path, "");
    if (n == 0)
        err = fail(problem, size, -ENOENT, path, why_nothing(path));
    for (int i = 0; i < n; i++) {
        snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
        err = err ? err : add_file(plan, file, wish, problem, size);
        free(entries[i]);
    }
    free(entries);
    return err;
}

static int by_rank_and_time(const void *a, const void *b)
{
    const struct pw_import_file *x = a, *y = b;
    if (x->head.rank != y->head.rank)
        return x->head.rank < y->head.rank ? -1 : 1;
    return (x->head.first_ns > y->head.first_ns) - (x->head.first_ns < y->head.first_ns);
}

/* ---- groups whose ranks no file tells ---- */

struct membership {
    const char *name;
    int32_t rank;
};

static int by_group_and_rank(const void *a, const void *b)
{
    const struct membership *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static size_t list_memberships(const struct pw_import_plan *plan, struct membership *out)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->nfiles; i++)
        for (size_t g = 0; g < plan->files[i].head.ngroups; g++) {
            const struct pw_group *group = &plan->files[i].head.groups[g];
            if (group->size)
                continue;
            if (out)
                out[n] = (struct membership){group->name, (int32_t)plan->files[i].head.rank};
            n++;
        }
    return n;
}

/* Gives the group the ranks that have it, of which list[0 .. n) has them in order. */
static void set_members(struct pw_group *group, const struct membership *list, size_t n)
{
    struct membership key = {group->name, -1};
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_group_and_rank(&list[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (high = low; high < n && strcmp(list[high].name, group->name) == 0; high++)
        ;
    group->members = calloc(high - low + 1, sizeof(*group->members));
    for (size_t i = low; group->members && i < high; i++)
        if (i == low || list[i].rank != list[i - 1].rank)
            group->members[group->size++] = list[i].rank;
}

/* The members of a group that a profile only names are the ranks whose profiles have it. */
static int complete_groups(struct pw_import_plan *plan)
{
    size_t n = list_memberships(plan, NULL);
    struct membership *list = calloc(n + 1, sizeof(*list));
    struct pw_group **open = calloc(n + 1, sizeof(struct pw_group *));
    size_t nopen = 0;
    if (list && open) {
        list_memberships(plan, list);
        pw_sort(list, n, sizeof(*list), by_group_and_rank);
        for (size_t i = 0; i < plan->nfiles; i++)
            for (size_t g = 0; g < plan->files[i].head.ngroups; g++)
                if (!plan->files[i].head.groups[g].size)
                    open[nopen++] = &plan->files[i].head.groups[g];
        for (size_t i = 0; i < nopen; i++)
            set_members(open[i], list, n);
    }
    const int ok = list && open;
    free(list);
    free(open);
    return ok ? 0 : -ENOMEM;
}

static int find_ranks(struct pw_import_plan *plan, char *problem, size_t size)
{
    pw_sort(plan->files, plan->nfiles, sizeof(*plan->files), by_rank_and_time);
    plan->first = calloc(plan->nfiles + 1, sizeof(*plan->first));
    if (!plan->first)
        return fail(problem, size, -ENOMEM, "import", "");
    for (size_t i = 0; i < plan->nfiles; i++) {
        const struct pw_import_file *f = &plan->files[i];
        if (f->head.rank < 0)
            return fail(
                problem, size, -EINVAL, f->path,
                "does not say which rank it is of: name it rank-N.json, or give --rank N or "
                "--rank-pattern");
        if (plan->world_size > 0 && f->head.rank >= plan->world_size)
            return fail(problem, size, -EINVAL, f->path,
                        "is of a rank beyond its job's number of ranks");
        if (i == 0 || f->head.rank != plan->files[i - 1].head.rank)
            plan->first[plan->nranks++] = i;
    }
    plan->first[plan->nranks] = plan->nfiles;
    if (plan->world_size < 0)
        plan->world_size = plan->files[plan->nfiles - 1].head.rank + 1;
    return 0;
}

/* ---- groups whose ranks are not told ---- */

static int uses(const struct pw_import_head *head, const char *group)
{
    for (size_t i = 0; i < head->nused; i++)
        if (strcmp(head->used[i], group) == 0)
            return 1;
    return 0;
}

/* Adds the group to the head, with the ranks whose files have operations of it. 0 or -ENOMEM. */
static int add_used(const struct pw_import_plan *plan, struct pw_import_head *head,
                    const char *name)
{
    struct pw_group *more = realloc(head->groups, (head->ngroups + 1) * sizeof(*more));
    int32_t *members = more ? calloc(plan->nranks, sizeof(*members)) : NULL;
    size_t n = 0;
    head->groups = more ? more : head->groups;
    if (!members)
        return -ENOMEM;
    for (size_t i = 0; i < plan->nranks; i++) {
        const struct pw_import_head *other = &plan->files[plan->first[i]].head;
        if (uses(other, name))
            members[n++] = (int32_t)other->rank;
    }
    if (n < 2) { /* no other rank came: whose group it is remains unknown */
        free(members);
        return 0;
    }
    struct pw_group *group = &head->groups[head->ngroups++];
    *group = (struct pw_group){.members = members, .size = n};
    snprintf(group->name, sizeof(group->name), "%s", name);
    return 0;
}

/* A collective is not over before all members have begun it. So where each rank has one file, with
 * all that it did, the members of a group are the ranks that have operations of it. */
static int infer_groups(struct pw_import_plan *plan)
{
    if (plan->nranks != plan->nfiles || (int64_t)plan->nranks != plan->world_size)
        return 0;
    for (size_t i = 0; i < plan->nfiles; i++)
        if (!plan->files[i].head.has_unnamed_groups || plan->files[i].head.has_lost)
            return 0;
    int err = 0;
    for (size_t i = 0; i < plan->nfiles; i++)
        for (size_t k = 0; k < plan->files[i].head.nused && !err; k++)
            err = add_used(plan, &plan->files[i].head, plan->files[i].head.used[k]);
    return err;
}

static int add_path(struct pw_import_plan *plan, const char *path,
                    const struct pw_import_wish *wish, char *problem, size_t size)
{
    char analysis[PW_ASCEND_PATH];
    struct stat status;
    if (stat(path, &status))
        return fail(problem, size, -errno, path, "");
    if (pw_msprof_is(path) && pw_msprof_find(path, analysis, sizeof(analysis)) == 0)
        return pw_import_plan_add_analysis(plan, analysis, wish, problem, size);
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
    err = err ? err : find_ranks(out, problem, size);
    err = err ? err : pw_import_plan_check_processes(out, problem, size);
    if (!err) {
        pw_import_plan_compare_versions(out);
        err = complete_groups(out);
    }
    if (!err && infer_groups(out))
        err = fail(problem, size, -ENOMEM, "import", "");
    if (err)
        pw_import_plan_fini(out);
    return err;
}

void pw_import_plan_fini(struct pw_import_plan *plan)
{
    for (size_t i = 0; i < plan->nfiles; i++)
        free_file(&plan->files[i]);
    free(plan->files);
    free(plan->first);
    pw_msprof_destroy(plan->msprof);
    *plan = (struct pw_import_plan){0};
}

int64_t pw_import_plan_missing(const struct pw_import_plan *plan, char *out, size_t size)
{
    int64_t missing = plan->world_size - (int64_t)plan->nranks, next = 0;
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i <= plan->nranks && missing; i++) {
        int64_t rank = i < plan->nranks ? plan->files[plan->first[i]].head.rank : plan->world_size;
        char text[64] = "";
        if (rank == next + 1)
            snprintf(text, sizeof(text), "%s%lld", used ? ", " : "", (long long)next);
        else if (rank > next)
            snprintf(text, sizeof(text), "%s%lld-%lld", used ? ", " : "", (long long)next,
                     (long long)rank - 1);
        next = rank + 1;
        if (used + strlen(text) + 6 > size) {
            snprintf(out + used, size - used, ", ...");
            break;
        }
        used += (size_t)snprintf(out + used, size - used, "%s", text);
    }
    return missing;
}
