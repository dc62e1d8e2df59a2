"""Outside suites, and how their names and arguments are ours."""
