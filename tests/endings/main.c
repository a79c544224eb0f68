/* ender.c as a program in C. */
int ender_run(void);

int main(void)
{
    return ender_run();
}
