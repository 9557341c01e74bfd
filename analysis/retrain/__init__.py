"""What a model learns from a capability, and what it forgets."""
