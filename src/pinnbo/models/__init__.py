"""Parametrised functions f(theta, x)."""
