"""What can go wrong around a study; every message is one sentence for the user."""


class StudyError(Exception):
    """Something about a study cannot be done."""

    exit_code = 2


class StorageError(StudyError):
    """The storage does not answer; the same command may work later."""

    exit_code = 3
