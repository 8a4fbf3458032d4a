"""What the command line prints: closing summaries, tables, states, timelines."""
