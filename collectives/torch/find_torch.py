"""Says as CMake variables where this interpreter's PyTorch is, and what a module for it must be compiled with."""
import os
import sys
import sysconfig

try:
    import torch
    import torch.distributed
except Exception as e:
    sys.exit(f"no PyTorch ({e})")
if not torch.distributed.is_available():
    sys.exit(f"PyTorch {torch.__version__} without torch.distributed")
if not torch._C._GLIBCXX_USE_CXX11_ABI:
    sys.exit(f"PyTorch {torch.__version__} with the C++ ABI from before GCC 5")

folder = os.path.dirname(torch.__file__)
defined = [
    f'{name}="{getattr(torch._C, "_" + name)}"'
    for name in ("PYBIND11_COMPILER_TYPE", "PYBIND11_STDLIB", "PYBIND11_BUILD_ABI")
    if getattr(torch._C, "_" + name, None)
]
for key, value in {
    "VERSION": torch.__version__,
    "INCLUDE_HINTS": ";".join([os.path.join(folder, "include"), os.path.join(folder, "include/torch/csrc/api/include")]),
    "LIBRARY_HINTS": os.path.join(folder, "lib"),
    "PYTHON_INCLUDE": sysconfig.get_path("include"),
    "SITE": sysconfig.get_path("purelib"),
    "SUFFIX": sysconfig.get_config_var("EXT_SUFFIX"),
    "DEFINITIONS": ";".join(defined),
}.items():
    print(f"{key}={value}")
