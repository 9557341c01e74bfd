"""What is known of English: words, grammar, trees, what a fluent writer writes."""
