"""`python -m weald` is `weald`."""

from weald.cli.main import main

main()
