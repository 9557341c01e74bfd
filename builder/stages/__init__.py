"""The stages of a build, from a search in a corpus to the expansions that are kept."""
