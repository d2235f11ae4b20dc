"""How casts with scale factors may be called, and the least amax of each, for their tests."""

FLAGS = {
    "rows": {},
    "powers": {"round_sf": True},
    "packed": {"round_sf": True, "use_packed_ue8m0": True},
    "columns": {"use_tma_aligned_col_major_sf": True},
    "packed columns": {
        "round_sf": True,
        "use_packed_ue8m0": True,
        "use_tma_aligned_col_major_sf": True,
    },
    "e4m3": {"use_e4m3_sf": True},
    "e4m3 columns": {"use_e4m3_sf": True, "use_tma_aligned_col_major_sf": True},
}
# By the format of the codes, and whether factors are e4m3.
LEAST = {
    ("e4m3", False): 1e-4,
    ("e4m3", True): 0.875,
    ("e2m1", False): 6 * 2.0**-126,
    ("e2m1", True): 6 * 2.0**-9,
}
