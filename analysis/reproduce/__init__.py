"""Tables and figures of the papers, made again for any model."""
