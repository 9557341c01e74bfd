"""Results that others hand in, checked and scored again."""
