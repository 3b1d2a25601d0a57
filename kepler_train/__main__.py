"""`python -m kepler_train`: the command line of this very interpreter."""

from kepler_train.cli import main

if __name__ == "__main__":  # not in processes that this one starts
    main()
