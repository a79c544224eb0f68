/* A program built against othermpi.c, whose handles are integers. */
int MPI_Init(int *argc, char ***argv);
int MPI_Allreduce(const void *from, void *to, int n, int type, int op, int comm);
int MPI_Finalize(void);

int main(int argc, char **argv)
{
    int a = 1, b = 0, rc = MPI_Init(&argc, &argv);
    rc += MPI_Allreduce(&a, &b, 1, 0x4c000405, 0x58000003, 0x44000000);
    return rc + MPI_Finalize();
}
