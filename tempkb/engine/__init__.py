"""Map a function over items on processes here or on several machines, with failures named and progress shown."""
