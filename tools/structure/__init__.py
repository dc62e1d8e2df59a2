"""How the code is built, in numbers: see the README beside this package."""
