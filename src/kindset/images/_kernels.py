"""The inner loop that torch has no fast form of, compiled for the CPU.

Sums over a window, with weights of their own for every image. Arrays are float32 or float64 and
contiguous. (Bilinear sampling was tried as well: torch's own is as fast.)
"""

from typing import Any

import numpy as np

from kindset._compiling import njit

WINDOW = 7
"""Side of the window; the inner loop adds the seven taps of a row at once, which fills the
vector registers (4 times faster than a grouped convolution)."""


@njit(cache=True, nogil=True)
def _pad(image: Any, stride: int, padded: Any) -> None:
    height, width = image.shape
    edge = WINDOW // 2
    for row in range(height):
        start = (row + edge) * stride + edge
        padded[start : start + width] = image[row]


@njit(cache=True, nogil=True, fastmath=True)
def window_sums(images: Any, weights: Any, out: Any) -> None:
    """Write ``out[i, r, c]``, the sum of ``weights[i, u, v] * images[i, r + u - 3, c + v - 3]``.

    `images` and `out` have the shape (n, height, width), `weights` (n, 7, 7). Pixels beyond the
    border do not count.
    """
    n, height, width = images.shape
    stride = width + WINDOW - 1
    size = height * stride
    padded = np.zeros((height + WINDOW) * stride + WINDOW, images.dtype)
    total = np.empty(size, images.dtype)
    for i in range(n):
        _pad(images[i], stride, padded)
        total[:] = 0
        for u in range(WINDOW):
            row = padded[u * stride : u * stride + size + WINDOW]
            w0, w1, w2, w3, w4, w5, w6 = weights[i, u]
            for p in range(size):
                total[p] += (
                    w0 * row[p] + w1 * row[p + 1] + w2 * row[p + 2] + w3 * row[p + 3]
                    + w4 * row[p + 4] + w5 * row[p + 5] + w6 * row[p + 6]
                )  # fmt: skip
        for r in range(height):
            out[i, r] = total[r * stride : r * stride + width]


@njit(cache=True, nogil=True, fastmath=True)
def window_correlations(images: Any, upstream: Any, out: Any) -> None:
    """Write ``out[i, u, v]``, the gradient of `window_sums` in its weights."""
    n, height, width = images.shape
    stride = width + WINDOW - 1
    size = height * stride
    padded = np.zeros((height + WINDOW) * stride + WINDOW, images.dtype)
    up = np.zeros(size, images.dtype)
    for i in range(n):
        _pad(images[i], stride, padded)
        for r in range(height):
            up[r * stride : r * stride + width] = upstream[i, r]
        for u in range(WINDOW):
            row = padded[u * stride : u * stride + size + WINDOW]
            s0 = s1 = s2 = s3 = s4 = s5 = s6 = images.dtype.type(0)
            for p in range(size):
                s0 += up[p] * row[p]
                s1 += up[p] * row[p + 1]
                s2 += up[p] * row[p + 2]
                s3 += up[p] * row[p + 3]
                s4 += up[p] * row[p + 4]
                s5 += up[p] * row[p + 5]
                s6 += up[p] * row[p + 6]
            out[i, u] = (s0, s1, s2, s3, s4, s5, s6)
