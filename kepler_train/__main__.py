"""`python -m kepler_train`: the command line of this very interpreter."""

from kepler_train.cli import main

main()
