"""The toolbox: registry, kinds of arguments, schemas, execution; and one folder a family of tools."""
