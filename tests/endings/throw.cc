// ender.c as a program in C++, which can end by an exception that nothing catches.
#include <stdexcept>

extern "C" {
int ender_run(void);
void ender_throw(void);
}

void ender_throw(void)
{
    throw std::runtime_error("nothing catches it");
}

int main()
{
    return ender_run();
}
