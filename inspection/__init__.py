"""Tools that show what a program did: graphs of ops as pictures, and where time goes."""
