"""What can go wrong around a study; every message is one sentence for the user."""


class StudyError(Exception):
    """Something about a study cannot be done."""

    exit_code = 2


class StorageError(StudyError):
    """The storage refuses, or is damaged."""

    exit_code = 3


class OutageError(StorageError):
    """The storage does not answer at the moment; the same command may work later."""
