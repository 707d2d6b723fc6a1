"""How the situations that docs/troubleshooting.md names are brought about."""


class Situations(dict):
    """Beginning of a quote -> a function that reproduces its situation; decorates the function."""

    def __call__(self, beginning):
        return lambda function: self.setdefault(beginning, function)
