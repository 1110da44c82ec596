"""How long things take on this machine. Nothing here asserts: figures are for people."""
