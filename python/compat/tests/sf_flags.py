"""How scale factors may be asked for."""

FLAGS = {
    "plain": {},
    "round": {"round_sf": True},
    "e4m3": {"use_e4m3_sf": True},
    "packed": {"round_sf": True, "use_packed_ue8m0": True},
    "columns": {"use_tma_aligned_col_major_sf": True},
    "e4m3 columns": {"use_tma_aligned_col_major_sf": True, "use_e4m3_sf": True},
    "packed columns": {
        "round_sf": True,
        "use_packed_ue8m0": True,
        "use_tma_aligned_col_major_sf": True,
    },
}
