"""How much of what the recogniser is sent is padding, and which bucket widths would have the least of it."""
