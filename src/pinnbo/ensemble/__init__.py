"""Families of models, hypotheses about the physics, and their average."""
