"""The name and version of the distribution, as in pyproject.toml."""

DISTRIBUTION = "pleat-client"
VERSION = "0.1.0"
