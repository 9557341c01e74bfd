"""Pages: the leaderboard, and the report of a few results."""
