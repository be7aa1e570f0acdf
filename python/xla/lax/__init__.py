"""xla.lax: what NumPy has no function for. Loops, branches and scans, vmap, contractions with a chosen type, convolutions,
windows, sorting, gathers and scatters, and keyed random numbers. Everything works in compiled functions and on plain NumPy
arrays.
"""

from . import random
from .arrays import (
    argsort,
    broadcast_in_dim,
    clamp,
    conv,
    conv_general,
    convert_element_type,
    bitcast_convert_type,
    dot_general,
    dynamic_index_in_dim,
    dynamic_slice,
    dynamic_slice_in_dim,
    dynamic_update_slice,
    iota,
    optimization_barrier,
    rsqrt,
    select,
    sort,
    sort_key_val,
    stop_gradient,
    top_k,
)
from .batching import map, vmap
from .loops import associative_scan, cond, fori_loop, scan, switch, while_loop
from .updates import (
    cumlogsumexp,
    cummax,
    cummin,
    cumprod,
    cumsum,
    gather,
    index_add,
    index_max,
    index_min,
    index_mul,
    index_update,
    segment_max,
    segment_min,
    segment_prod,
    segment_sum,
    take,
)
from .windows import avg_pool, max_pool, reduce_window
