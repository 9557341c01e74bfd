"""How diverse a suite is, beside another and beside its corpus."""
