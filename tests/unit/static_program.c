/* A statically linked program, which test_program.c inspects. */
int main(void)
{
    return 0;
}
