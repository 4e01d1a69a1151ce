"""`python -m weald` is `weald`."""

from weald.cli.main import main

if __name__ == "__main__":
    main()
