/* A program that is linked statically, for test_program.c to look at. */
int main(void)
{
    return 0;
}
