"""Long documents through a whole gateway: when the first page comes, and what memory does; `make documents`."""
