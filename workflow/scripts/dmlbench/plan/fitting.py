"""Stub until the merge."""


def check_batch(*args):
    return None


def check_transforms(*args):
    return None
