"""What cannot be drawn."""


class NothingToDraw(ValueError):
    """There is no such picture of these data; the sentence says why."""
