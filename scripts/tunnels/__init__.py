"""Measures tunnels in network namespaces. Part of scripts/programs.py."""
