"""S²LCT: failure rates of a sentiment model, one linguistic capability at a time."""

from s2lct.leaderboard.integrations import metric


class S2lct(metric.S2lct):
    """The metric class that `evaluate.load` finds in this file; see `metric.S2lct`."""
