"""From a labelled corpus to a suite of linked seeds and expansions."""
