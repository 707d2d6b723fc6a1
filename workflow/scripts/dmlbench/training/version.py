"""The version of training: raised when the same spec gives different weights than before."""

# tests/golden compares what toy trainings compute with what was recorded for this version.
VERSION = 1
