"""The version of searching: raised when the same search chooses or scores other trials."""

VERSION = 1
