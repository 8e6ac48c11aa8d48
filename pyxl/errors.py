"""Errors that a user caused and can mend."""


class UserError(Exception):
    """What is wrong, where, and what to do, in one line. The command line prints it and exits with code 2."""
