/* A program that is linked with ownmpi.c. */
int use_mpi(void);

int main(void)
{
    return use_mpi();
}
