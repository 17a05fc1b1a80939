"""`python -m maven_env` is the command line."""

from maven_env.cli import main

main()
