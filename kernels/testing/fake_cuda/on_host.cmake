# Rewrites a kernel's source, `from`, so that a C++ compiler takes it, to `to`: launches become calls, and CUB's headers are left out.
file(READ ${from} text)
string(REGEX REPLACE "#include <cub/[^\n]*\n" "" text "${text}")
string(REGEX REPLACE "([A-Za-z_]+(<[A-Za-z:]+>)?)<<<([^;]*)>>>\\(" "fake_cuda::run_on_host([=](auto... a) { \\1(a...); }, \\3)(" text "${text}")
file(WRITE ${to} "#include \"kernels/testing/fake_cuda/on_host.hpp\"\n${text}")
