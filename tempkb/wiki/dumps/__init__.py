"""What Wikimedia published: files, the pages and revisions in them, SQL tables."""
