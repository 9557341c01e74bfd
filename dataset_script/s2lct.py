"""S²LCT: failure rates of a sentiment model, one linguistic capability at a time."""

from s2lct.leaderboard.integrations import evaluate_metric


class S2lct(evaluate_metric.S2lct):
    """What `evaluate.load` finds in this file; see `evaluate_metric.S2lct`."""
