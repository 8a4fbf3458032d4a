"""What commands do, by the tasks of the rooms. See README.md."""
