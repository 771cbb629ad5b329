"""What a page costs as it has more lines, more pixels or a very wide line, and the loop as clients grow in number."""
