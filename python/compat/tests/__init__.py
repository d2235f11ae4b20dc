"""A package, so that its files may be named like other tests of the repository."""
