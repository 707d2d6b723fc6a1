"""`python -m dmlbench` is the command `dmlbench`."""

from dmlbench.command import main

main()
