"""The `livebuf` command, which the wheel installs: `python -m livebuf --help`."""

import signal
import sys

from livebuf._livebuf import _command


def main() -> None:
    """Runs the command with the arguments of this process, and ends the process."""
    # Python would look at an interrupt when the command has ended. One that is ignored stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_command(["livebuf", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
