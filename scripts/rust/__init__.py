"""Reads Rust source as text: tokens, items, the modules of a crate and what refers to what."""
