"""Corpora: labelled sentences of packages, files, the Hub and the Stanford Sentiment Treebank."""
