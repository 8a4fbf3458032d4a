"""Map a function over items on local processes, with failures named and progress shown."""
