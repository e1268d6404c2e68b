"""The demo: a network that cannot learn natively learns under an override. ``surrogate demo`` runs it."""
