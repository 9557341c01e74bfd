"""Results as files, alone and collected, and where models stand by them."""
