"""What there is to do in a home, what a request means, and the steps of a build and a fetch."""
