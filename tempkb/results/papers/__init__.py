"""Tables and figures of the four papers, declared in a TOML file each, made of a home's own data."""
