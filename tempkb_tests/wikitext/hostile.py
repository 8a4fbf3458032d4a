"""Pieces of markup that are hostile when they come a hundred thousand times; `make bench` measures them, too."""

HOSTILE = {
    "links": "[[", "links with pipes": "[[a|", "closing": "]]", "braces": "{{", "spaced braces": "{{ ", "nested templates": "{{nowrap|",
    "tables": "\n{|", "bold": "'''", "apostrophes": "'' ", "comments": "<!--", "references": "<ref>", "nowiki": "<nowiki>",
    "files": "[[File:", "external": "[http://a ", "parentheses": "(", "commas": ", ", "colons": ": ", "blanks": " ", "heading": "=",
    "entities": "&#", "underscores": "__A", "tags": "<span ", "braces shut": "{{a}}", "mixed": "[[a|{{b|'''c", "lists": "\n*", "marks": "~",
    "empty pairs": "()", "open and comma": "( ,", "lines of parameters": "{{a\n|", "tables open": "{|\n",
}  # fmt: skip
