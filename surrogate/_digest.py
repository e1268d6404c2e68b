"""Short names for long texts, the same in every process."""

from __future__ import annotations


def digest(text: str) -> str:
    """32 hexadecimal digits of the text's SHA-256."""
    from hashlib import sha256  # loads OpenSSL: not while surrogate is being imported

    return sha256(text.encode()).hexdigest()[:32]
