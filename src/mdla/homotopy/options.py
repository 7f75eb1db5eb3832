# SPDX-License-Identifier: BSD-3-Clause
"""The constants of the tracker that a user may set."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["TrackOptions"]


@dataclass(frozen=True)
class TrackOptions:
    """How paths are tracked.

    Attributes:
        pole_fraction: A step goes at most this part of the distance to the nearest pole.
        error_fraction: The predicted error is at most this part of the distance to the nearest
            other path.
        trust_fraction: A step is repeated with half its length if the first update of Newton's
            method exceeds this part of that distance.
        max_steps: A path with more steps has failed.
        endgame_radius: From here on, in ``1 - t``, ends are examined for being singular.
        smallest_radius: Circles around t = 1 shrink down to this radius.
        max_winding: The most times a circle is gone round.
        samples: Points of a circle.
        max_climbs: How many times a path may go on in about twice the precision.

    Raises:
        ValueError: A number is out of its range.

    Example:
        >>> import mdla
        >>> mdla.homotopy.TrackOptions(max_steps=500).max_steps
        500
    """

    pole_fraction: float = 0.5
    error_fraction: float = 0.005
    trust_fraction: float = 0.1
    max_steps: int = 2000
    endgame_radius: float = 2.0**-5
    smallest_radius: float = 2.0**-160
    max_winding: int = 32
    samples: int = 12
    max_climbs: int = 2

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            ceiling = 1.0 if isinstance(field.default, float) else float("inf")
            least = 0 if field.name == "max_climbs" else 3 if field.name == "samples" else 1
            fits = 0 < value < ceiling if ceiling == 1.0 else value >= least and value == int(value)
            if not fits:
                wanted = "between 0 and 1" if ceiling == 1.0 else f"an integer of at least {least}"
                raise ValueError(f"TrackOptions: {field.name} must be {wanted}, got {value!r}")
