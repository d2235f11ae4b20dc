"""Bytes and codes of casts, made comparable."""

import torch

from tile_kernels.testing import clear_unused_sf, clear_unused_sf_col_pack
from tile_kernels.testing.numeric import assert_equal
from tile_kernels.testing.quant import quant_level_rank

BYTES = torch.arange(1, 25, dtype=torch.uint8)


def test_ranks_of_codes() -> None:
    e4m3 = torch.tensor([[-448.0, -0.0, 0.0, 448.0, 2**-9]]).to(torch.float8_e4m3fn)
    assert quant_level_rank(e4m3, "e4m3").tolist() == [0, 126, 126, 252, 127]
    bf16 = torch.tensor([-0.0, 0.0, 1.0]).bfloat16()
    assert quant_level_rank(bf16, "bf16").tolist() == [0x7F7F, 0x7F7F, 0x7F7F + 0x3F80]
    assert quant_level_rank(torch.tensor([-torch.inf]).bfloat16(), "bf16").item() == -1
    e2m1 = torch.tensor([[0x70, 0x1F - 256 + 256]], dtype=torch.uint8).view(torch.int8)
    ranks = quant_level_rank(e2m1, "e2m1")
    assert ranks.tolist() == [7, 14, 0, 8] and ranks.dtype == torch.int32
    values = torch.arange(0, 0x7F, dtype=torch.uint8).view(torch.float8_e4m3fn)
    both = torch.cat([-values.float().flip(0), values.float()[1:]]).to(torch.float8_e4m3fn)
    assert quant_level_rank(both, "e4m3").tolist() == list(range(253))  # neighbours differ by one


def test_bytes_without_a_group_are_cleared() -> None:
    words = BYTES.view(3, 8).clone().view(torch.int32)
    found = clear_unused_sf(words, 160, 32)
    wanted = BYTES.view(3, 8).clone()
    wanted[:, 5:] = 0
    assert_equal(found, wanted)
    assert_equal(words.view(torch.uint8), wanted)  # it was contiguous
    columns = BYTES.view(3, 8).view(torch.int32).T.contiguous().T
    assert_equal(clear_unused_sf(columns, 160, 32), wanted)
    one_row = torch.empty_strided((1, 2), (1, 4), dtype=torch.int32)
    one_row.copy_(BYTES[:8].view(torch.int32))
    assert_equal(clear_unused_sf(one_row, 160, 32), wanted[:1])


def test_bytes_behind_the_last_tokens_are_cleared() -> None:
    words = BYTES.view(2, 12).clone().view(torch.int32)
    found = clear_unused_sf_col_pack(words, 6 * 128 - 1, 128)
    wanted = BYTES.view(2, 3, 4).clone()
    wanted[1, :, 2:] = 0
    assert_equal(found, wanted.view(2, 12))
    full = BYTES.view(2, 12).clone().view(torch.int32)
    assert_equal(clear_unused_sf_col_pack(full, 8 * 32, 32), BYTES.view(2, 12))
    assert clear_unused_sf_col_pack(full[:0], 0, 32).shape == (0, 12)
