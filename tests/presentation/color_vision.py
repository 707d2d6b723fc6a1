"""How far apart two colors are, for readers of full color vision and for color-blind ones."""

import numpy as np

DEUTERANOPIA = np.array(
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ]
)
"""Linear RGB as seen without the cones of medium wavelengths (Machado, Oliveira, Fernandes 2009, A
Physiologically-based Model for Simulation of Color Vision Deficiency, severity 1)."""

_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
_WHITE = _TO_XYZ.sum(axis=1)


def lab(colors: list[str], vision: np.ndarray | None = None) -> np.ndarray:
    """CIELAB of colors #rrggbb, [N, 3], D65; as seen with a `vision` where one is given."""
    values = [[int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)] for color in colors]
    values = np.array(values)
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    if vision is not None:
        linear = np.clip(linear @ vision.T, 0, 1)
    relative = linear @ _TO_XYZ.T / _WHITE
    cubic = np.where(relative > 216 / 24389, np.cbrt(relative), (24389 / 27 * relative + 16) / 116)
    x, y, z = cubic.T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def ciede2000(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Distance of colors in CIELAB, [..., 3] each (Sharma, Wu, Dalal 2005, equations 2 to 22)."""
    L1, a1, b1 = np.moveaxis(first, -1, 0)
    L2, a2, b2 = np.moveaxis(second, -1, 0)
    chroma = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    G = 0.5 * (1 - np.sqrt(chroma**7 / (chroma**7 + 25.0**7)))
    a1, a2 = (1 + G) * a1, (1 + G) * a2
    C1, C2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    gray = C1 * C2 == 0
    turn = h2 - h1
    turn = np.where(turn > 180, turn - 360, np.where(turn < -180, turn + 360, turn))
    dL, dC = L2 - L1, C2 - C1
    dH = 2 * np.sqrt(C1 * C2) * np.sin(np.radians(np.where(gray, 0, turn)) / 2)
    L, C = (L1 + L2) / 2, (C1 + C2) / 2
    apart, total = np.abs(h1 - h2) > 180, h1 + h2
    h = np.where(apart, np.where(total < 360, total + 360, total - 360), total) / 2
    h = np.where(gray, total, h)
    T = 1 - 0.17 * _cos(h - 30) + 0.24 * _cos(2 * h) + 0.32 * _cos(3 * h + 6)
    T = T - 0.20 * _cos(4 * h - 63)
    SL = 1 + 0.015 * (L - 50) ** 2 / np.sqrt(20 + (L - 50) ** 2)
    SC, SH = 1 + 0.045 * C, 1 + 0.015 * C * T
    RC = 2 * np.sqrt(C**7 / (C**7 + 25.0**7))
    RT = -np.sin(np.radians(60 * np.exp(-(((h - 275) / 25) ** 2)))) * RC
    terms = (dL / SL) ** 2 + (dC / SC) ** 2 + (dH / SH) ** 2 + RT * (dC / SC) * (dH / SH)
    return np.sqrt(terms)


def distances(colors: list[str], vision: np.ndarray | None = None) -> np.ndarray:
    """CIEDE2000 of every two of some colors, [N, N]."""
    seen = lab(colors, vision)
    return ciede2000(seen[:, None], seen[None])


def _cos(degrees):
    return np.cos(np.radians(degrees))
