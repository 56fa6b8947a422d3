"""The physics: functionals, coordinates, rows of a PDE, characteristics."""
