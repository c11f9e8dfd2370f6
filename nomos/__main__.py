"""``python -m nomos`` is the command ``nomos``."""

from nomos.cli import main

if __name__ == "__main__":
    main()
