"""From the bytes of a file to upright BGR pixels; `files` is the entry (docs/decisions/0014-decoders.md)."""
