"""Errors that a user caused and can mend."""


class UserError(Exception):
    """What is wrong, where, and what to do, in one line. The command line prints it and exits with code 2."""


class MissingProgram(UserError):
    """A program or package that an optional feature needs is not installed."""
