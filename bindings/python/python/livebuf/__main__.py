"""The `livebuf` command, which the wheel installs: `python -m livebuf --help`."""

import sys

from livebuf._livebuf import _command


def main() -> None:
    """Runs the command with the arguments of this process, and ends the process."""
    sys.exit(_command(["livebuf", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
