/* Python frames of pystack in the place of the interpreter's, and the names of C++ functions. The
 * output is that of pystack 1.7.2. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "rank/live/calltrace.h"
#include "rank/live/pystack.h"

static const char output[] =
    "Traceback for thread 11 (python3.11) [Has the GIL,Garbage collecting] (most recent call "
    "last):\n"
    "    (Python) File \"/home/me/train.py\", line 88, in <module>\n"
    "        loss = model(x)\n"
    "    (Python) File \"/home/me/model; old.py\", line 31, in forward\n"
    "        return dist.all_reduce(x)\n"
    "    (Python) File \"/opt/tools/profwrap/_collectives.py\", line 125, in helper\n"
    "    (Python) File \"/venv/lib/python3.11/site-packages/torch/c10d.py\", line 4, in "
    "all_reduce\n"
    "\n"
    "Traceback for thread 12 (pt_main_thread) [] (most recent call last):\n"
    "    (Python) File \"/usr/lib/python3.11/threading.py\", line 995, in _bootstrap\n"
    "        self._bootstrap_inner()\n"
    "The frame stack for thread 13 is empty\n";

static void add_stack(struct pw_live *live, int32_t tid, const char *text)
{
    live->stacks = realloc(live->stacks, (live->nstacks + 1) * sizeof(*live->stacks));
    assert_non_null(live->stacks);
    live->stacks[live->nstacks++] = (struct pw_live_stack){.tid = tid, .text = strdup(text)};
}

/* Thread 11 is in C, called by the innermost Python function; thread 12 has no stack yet; thread 14
 * is not in the output. */
static void test_frames_take_the_place_of_the_interpreters(void **state)
{
    struct pw_live live = {.nstacks = 0};
    (void)state;
    add_stack(&live, 11,
              "main;Py_RunMain;_PyEval_EvalFrameDefault (ceval.c:1);_PyEval_Vector;"
              "_PyEval_EvalFrameDefault (ceval.c:2);cfunction_call;wait (work.cc:7)");
    add_stack(&live, 14, "start;work");
    assert_int_equal(pw_pystack_merge(output, &live), 2);
    assert_int_equal(live.nstacks, 3);
    assert_string_equal(live.stacks[0].text, "<module> (train.py:88);forward (model, old.py:31);"
                                             "helper (_collectives.py:125);all_reduce (c10d.py:4);"
                                             "cfunction_call;wait (work.cc:7)");
    assert_string_equal(live.stacks[0].place, "model; old.py:31 (forward)");
    assert_int_equal(live.stacks[0].has_gil, 1);
    assert_int_equal(live.stacks[0].collects, 1);
    assert_string_equal(live.stacks[1].text, "start;work");
    assert_string_equal(live.stacks[1].place, "");
    assert_int_equal(live.stacks[2].tid, 12);
    assert_string_equal(live.stacks[2].text, "_bootstrap (threading.py:995)");
    assert_int_equal(live.stacks[2].has_gil, 0);
    pw_live_fini(&live);
}

static void test_other_output(void **state)
{
    struct pw_live live = {.nstacks = 0};
    (void)state;
    assert_int_equal(pw_pystack_merge("Engine error: Invalid address in remote process\n", &live),
                     0);
    assert_int_equal(pw_pystack_merge("Traceback for thread x\n    (Python) File \"a", &live), 1);
    assert_int_equal(pw_pystack_merge("", &live), 0);
    pw_live_fini(&live);
}

static void check(const char *name, const char *wanted)
{
    char out[128];
    assert_string_equal(pw_demangle_shorten(name, out, sizeof(out)), wanted);
}

static void test_names_of_functions(void **state)
{
    char text[128] = "_ZN4c10d4Work4waitEl+0x5a";
    (void)state;
    check("c10d::Work::wait(std::chrono::duration<long>)", "c10d::Work::wait");
    check("ns::(anonymous namespace)::f(int)", "ns::(anonymous namespace)::f");
    check("std::vector<int>::at(unsigned long)", "std::vector<int>::at");
    check("run<void (*)(std::vector<int, A<int> >)>::go()", "run<...>::go");
    check("A::operator()(int) const", "A::operator()");
    check("A::operator<<(int)", "A::operator<<");
    check("A<", "A<");
    pw_demangle(text, sizeof(text));
    if (text[0] == '_') /* no libstdc++ */
        skip();
    assert_string_equal(text, "c10d::Work::wait+0x5a");
    strcpy(text, "_Znot");
    pw_demangle(text, sizeof(text));
    assert_string_equal(text, "_Znot");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_take_the_place_of_the_interpreters),
        cmocka_unit_test(test_other_output),
        cmocka_unit_test(test_names_of_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
