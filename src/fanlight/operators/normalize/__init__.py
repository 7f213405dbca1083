"""Normalize: changes become changes of which every delete has its row."""
