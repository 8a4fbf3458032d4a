"""What there is to do in a home, what a request means, and the fetching of dumps."""
