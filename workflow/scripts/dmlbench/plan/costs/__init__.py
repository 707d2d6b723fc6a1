"""What is left to run, what it will cost, and how far it is.

`estimates` gives the seconds of jobs, `memory_model` the GPU memory of a training; `costs` adds up
what is left, `progress` says what is done, running or failed, and `overview` prints it.
"""
