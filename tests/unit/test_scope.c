/* Whose definition of a function a caller has, among libraries that each have one. */
#include "unit.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "rank/probe/scope.h"

enum { LIBRARIES = 3, NAMES = 20000 };

static void *open_library(int i)
{
    static const char *const paths[LIBRARIES] = {SCOPE_LIBRARIES};
    void *library = dlopen(paths[i], RTLD_LAZY | RTLD_LOCAL);
    assert_non_null(library);
    return library;
}

static struct pw_scope_query query_of(void *library, const char *symbol)
{
    return (struct pw_scope_query){.symbol = symbol, .caller = dlsym(library, "scope_caller")};
}

static int call(const struct pw_scope_answer *answer)
{
    int (*function)(void);
    if (!answer->target)
        return -1;
    memcpy(&function, &answer->target, sizeof(function));
    return function();
}

/* By what is kept, where it is. */
static int ask(void *library, const char *symbol, int *recalled)
{
    const struct pw_scope_query query = query_of(library, symbol);
    struct pw_scope_answer answer;
    if (pw_scope_recall(&query, &answer))
        ++*recalled;
    else
        answer = pw_scope_find(&query);
    return call(&answer);
}

static void each_has_its_own(void **state)
{
    (void)state;
    int recalled = 0;
    void *libraries[LIBRARIES];
    for (int i = 0; i < LIBRARIES; i++)
        libraries[i] = open_library(i);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < LIBRARIES; i++)
            assert_int_equal(ask(libraries[i], "scoped", &recalled), i + 1);
    assert_int_equal(recalled, LIBRARIES);
    for (int i = 0; i < LIBRARIES; i++)
        dlclose(libraries[i]);
}

/* More answers than there are places: some are found again, and all are right. */
static void the_table_is_full(void **state)
{
    (void)state;
    int recalled = 0;
    void *libraries[2] = {open_library(0), open_library(1)};
    char(*names)[8] = calloc(NAMES, sizeof(*names));
    assert_non_null(names);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < NAMES; i++) {
            strcpy(names[i], "scoped");
            assert_int_equal(ask(libraries[i % 2], names[i], &recalled), i % 2 + 1);
        }
    assert_true(recalled < NAMES);
    recalled = 0;
    for (int i = 0; i < 100; i++)
        assert_int_equal(ask(libraries[0], names[0], &recalled), 1);
    assert_true(recalled >= 99);
    free(names);
    dlclose(libraries[0]);
    dlclose(libraries[1]);
}

/* The libraries have the same layout: where one was, the next one often is. */
static void another_where_it_was(void **state)
{
    (void)state;
    int recalled = 0;
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < LIBRARIES; i++) {
            void *library = open_library(i);
            assert_int_equal(ask(library, "scoped", &recalled), i + 1);
            dlclose(library);
        }
}

static void names_that_no_object_defines(void **state)
{
    (void)state;
    int recalled = 0;
    void *library = open_library(0);
    assert_int_equal(ask(library, "scoped_nowhere", &recalled), -1);
    assert_int_equal(ask(library, "scoped_nowhere", &recalled), -1);
    assert_int_equal(recalled, 1);
    void *other = open_library(1); /* might have had it */
    assert_int_equal(ask(library, "scoped_nowhere", &recalled), -1);
    assert_int_equal(recalled, 1);
    dlclose(other);
    dlclose(library);
}

static void what_an_object_needs(void **state)
{
    (void)state;
    void *library = open_library(0);
    const struct link_map *map = pw_scope_object(dlsym(library, "scope_caller"));
    assert_non_null(map);
    assert_true(pw_scope_defines(map, "scoped"));
    assert_false(pw_scope_defines(map, "strlen"));
    size_t size = 0;
    assert_ptr_equal(pw_scope_needed(map, "scoped", &size), dlsym(library, "scoped"));
    assert_true(size > 0);
    /* A function that no sanitizer replaces. */
    assert_ptr_equal(pw_scope_needed(map, "gnu_get_libc_version", NULL),
                     dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
    dlclose(library);
}

static void objects_by_what_they_are(void **state)
{
    (void)state;
    char path[PATH_MAX];
    void *library = open_library(1);
    assert_true(pw_scope_path(pw_scope_is_defining, "scoped", 0, path));
    assert_non_null(strstr(path, "scopelib1"));
    assert_false(pw_scope_path(pw_scope_is_defining, "scoped", 1, path));
    assert_true(pw_scope_path(pw_scope_is_named, "libscopelib", 0, path));
    dlclose(library);
    assert_false(pw_scope_path(pw_scope_is_named, "libscopelib", 0, path));
}

/* The first library wants one of the C library's, and none wants its own. */
static void who_imports(void **state)
{
    char path[PATH_MAX];
    (void)state;
    void *library = open_library(0);
    assert_false(pw_scope_path(pw_scope_is_importing, "scoped", 0, path));
    assert_false(pw_scope_path(pw_scope_is_importing, "gnu_get_libc_release", 1, path));
    assert_true(pw_scope_path(pw_scope_is_importing, "gnu_get_libc_release", 0, path));
    assert_non_null(strstr(path, "scopelib0"));
    dlclose(library);
    assert_false(pw_scope_path(pw_scope_is_importing, "gnu_get_libc_release", 0, path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_own),     cmocka_unit_test(the_table_is_full),
        cmocka_unit_test(another_where_it_was), cmocka_unit_test(names_that_no_object_defines),
        cmocka_unit_test(what_an_object_needs), cmocka_unit_test(objects_by_what_they_are),
        cmocka_unit_test(who_imports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
