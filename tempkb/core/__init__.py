"""What everything stands on: errors, days and windows, titles, settings and requests, locks, statistics."""
