"""From the bytes of a file to upright BGR pixels; `files` is the entry (docs/decisions/0018-decoders.md)."""
