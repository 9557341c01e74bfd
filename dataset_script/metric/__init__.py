"""The metric module, as a Space or a folder holds it: s2lct.py and nothing else."""
