"""The commands of `tempkb` by group: each is what it is called with, the run that does it, and its screen."""
