"""What a server may be asked for, and by whom."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Beyond these a request is refused, with the limit in the answer."""

    body_bytes: int = 256 * MEGABYTE
    """Of an upload with files."""
    json_bytes: int = 32 * MEGABYTE
    """Of a request in JSON, which is read in memory."""
    unpacked_bytes: int = 1024 * MEGABYTE
    """Of a file that comes packed, and of all in an archive together."""
    rows: int = 200_000
    caption_characters: int = 5_000
    references: int = 200
    """Of one image."""
    images: int = 5_000
    image_bytes: int = 20 * MEGABYTE
    image_pixels: int = 50_000_000
    seconds: float = 3600.0
    """That a job may take."""
    body_seconds: float = 120.0
    """In which a request must have come in whole."""
    head_seconds: float = 15.0
    """In which the head of a request must have come in."""
    quick_rows: int = 200
    quick_characters: int = 300
    """Requests up to this size, without a longer caption, do not wait behind longer ones: the time of some metrics
    grows with the square of a caption's length and more."""
    waiting: int = 2_000
    """Requests and jobs that may wait at once."""
    kept: int = 100
    """Results that are kept for who asks for them later; older ones go."""
    kept_rows: int = 2_000_000


@dataclass(frozen=True)
class Settings:
    host: str = "127.0.0.1"
    port: int = 8765
    token: str = ""
    """What clients must show; needed where others than this machine can reach the server."""
    limits: Limits = field(default_factory=Limits)
    jobs: int = 2
    """That are worked on at once."""
    threads: int = field(default_factory=lambda: max(1, (os.cpu_count() or 1) // 2))
    """Of each job."""
    warm: bool = True
    """Whether models and tables are loaded before somebody asks for them."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
