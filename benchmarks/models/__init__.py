"""The models that are timed, each written twice: with tensorlike and with PyTorch."""
