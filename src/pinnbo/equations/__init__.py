"""Equations in the notation that people use, and a catalogue of well-known ones."""
