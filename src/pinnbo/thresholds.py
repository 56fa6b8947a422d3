"""The numbers at which `auto` decides otherwise, each with its reason.

`scripts/count_thresholds.py` lists their places. Other numbers on its path are settings of `Auto` and of its rules, say
how accurately something is computed, or what is accepted from a user. Probabilities are of hypotheses and models,
errors relative.
"""

CONFIDENT = 0.95
"""Probability at which one acts on something: warns of an equation, no longer hedges against it, gives it up."""

SETTLED = 0.9999
"""Probability from which on nothing doubts an equation any more: one in ten thousand will be wrong for ever."""

NEGLIGIBLE = 1e-2
"""Weight of a model beside the best, or of all models on which the equations act, that makes no difference."""

LIKELY = 0.5
"""A place may be measured, or is within the limits, if it is more likely so than not."""

WITHIN_NOISE = 2.0
"""Standard deviations that 19 of 20 normal values keep within: what differs less may be noise, or the best."""

FEWEST, MOST = 4, 20
"""Measurements that a design has at least, whatever the dimension, and at most. With fewer than the least no axis is
given a length scale of its own; after the most the box is not filled any further."""

ROWS_REACH = 5
"""Coordinates in which rows at points bind an equation between them. In more of them a kernel cannot be given it, and a
search that has no other family for it finds out nothing by itself."""

POINTS_FILL = 3
"""Coordinates in which points, cells or waves lie so densely that each of them is worth its cost: the plane, space, and
either with time where that leaves three."""

BOUND = 0.02
"""Share of the variance of N[f] that may be left between the rows where they bind it: a seventh of its size."""

RESOLVED = 1e-2
"""Error of a source or a medium, relative to its size, below which it counts as resolved: as that of a measurement."""

POOR = 1.5
"""Times the error of the source at the best length scale. One that predicts it worse, and does not resolve it, would
be sure of a wrong mean."""
