"""The smallest benchmark there can be: which titles of a snapshot begin with a letter?"""
