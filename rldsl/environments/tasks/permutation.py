"""A keyed permutation of 0..n-1 that can be read at any place without listing it."""

from __future__ import annotations

import hashlib

ROUNDS = 4


def permute(index: int, size: int, key: str) -> int:
    """Where `index` (0 <= index < size) goes under the permutation of `size` numbers that `key` names.

    A balanced Feistel network over the next power of four, walked until it lands inside (Black and Rogaway,
    "Ciphers with arbitrary finite domains", 2002): every value is met exactly once.
    """
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    while True:
        index = _feistel(index, half, key)
        if index < size:
            return index


def _feistel(value: int, half: int, key: str) -> int:
    mask = (1 << half) - 1
    left, right = value >> half, value & mask
    for turn in range(ROUNDS):
        digest = hashlib.blake2b(f"{key}/{turn}/{right}".encode(), digest_size=8).digest()
        left, right = right, left ^ (int.from_bytes(digest, "big") & mask)
    return (left << half) | right
