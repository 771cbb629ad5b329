"""Other services' APIs, spoken by this one, so that their clients need no change; one module a dialect."""
