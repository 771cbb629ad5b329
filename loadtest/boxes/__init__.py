"""How exactly words and characters are placed: text drawn at known places, read over HTTP, and compared."""
