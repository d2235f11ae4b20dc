"""The API of tile_kernels, of April 2026 and of 2.1.0 together, on the kernels of tilewright.

Nothing here needs a device or torch before the first use: submodules are loaded when asked for.
"""

from . import config, utils
from ._lazy import lazy
from .config import (
    get_amax_clamp_for_quant,
    get_deterministic_algorithms,
    get_device_num_sms,
    get_max_smem_per_sm,
    get_max_ub_per_vector_core,
    get_num_ai_cores,
    get_num_cube_cores,
    get_num_sms,
    get_num_vec_cores,
    get_pdl,
    get_token_alignment,
    set_amax_clamp_for_quant,
    set_num_sms,
    set_pdl,
    set_token_alignment,
    use_deterministic_algorithms,
)

__version__ = version = "2.1.0"
__version_tuple__ = version_tuple = (2, 1, 0)
__commit_id__ = commit_id = None

_LAZY = ("moe", "quant", "rand", "testing", "torch", "transform", "transpose")

__all__ = [
    "__commit_id__",
    "__version__",
    "__version_tuple__",
    "commit_id",
    "config",
    "get_amax_clamp_for_quant",
    "get_deterministic_algorithms",
    "get_device_num_sms",
    "get_max_smem_per_sm",
    "get_max_ub_per_vector_core",
    "get_num_ai_cores",
    "get_num_cube_cores",
    "get_num_sms",
    "get_num_vec_cores",
    "get_pdl",
    "get_token_alignment",
    "set_amax_clamp_for_quant",
    "set_num_sms",
    "set_pdl",
    "set_token_alignment",
    "use_deterministic_algorithms",
    "utils",
    "version",
    "version_tuple",
    *_LAZY,
]


__getattr__ = lazy(__name__, _LAZY)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
