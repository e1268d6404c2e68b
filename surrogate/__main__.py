"""``python -m surrogate``: the command line, where the script ``surrogate`` is not on the path."""

from surrogate._main import main

if __name__ == "__main__":
    main()
