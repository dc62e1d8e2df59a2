"""Source to source: Python's control flow on tensors, read from its source, made ops of a program.

`source` finds a function's tree; one module each rewrites one kind of syntax in it; `functions`
compiles the tree into a function that keeps the user's lines. What the rewritten code calls while
it runs is in `operators`.
"""
