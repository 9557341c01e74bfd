"""Scripts that train the models that the leaderboard ships."""
