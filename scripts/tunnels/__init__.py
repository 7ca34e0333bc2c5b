"""Measures tunnels in network namespaces. Part of programs.py and flent.py."""
