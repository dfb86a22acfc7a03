"""Entry of `blueflame` and `python -m starter`. The commands themselves are in `starter.cli`."""


def main() -> None:
    """Run the command line.

    Raises:
        SystemExit: always; 0 after success.
    """
    raise SystemExit("blueflame: this command line has no commands yet; `make test` works")


if __name__ == "__main__":
    main()
