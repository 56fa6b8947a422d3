"""Gaussian processes given the physics, and their posteriors."""
