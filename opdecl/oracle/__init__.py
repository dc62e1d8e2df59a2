"""The oracle: what declarations mean, computed by NumPy; for tests and examples."""
