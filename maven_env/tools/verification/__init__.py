"""Checks that give a verdict: passed, failed or inconclusive, with the evidence."""
