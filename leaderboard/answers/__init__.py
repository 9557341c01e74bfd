"""Reading labels from models' answers: probabilities, predictions in files, and words."""
