"""HTTP: routes, schemas, problem documents, health."""
