"""Methods without physics, to compare with: the paper's four baselines and what one would take today.

They are used like every other method, ``Optimizer(space, method="turbo")``; a PDE is accepted and not used.
Their libraries come with ``pip install 'pinnbo[bench]'``.
"""
