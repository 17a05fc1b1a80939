"""Bounded execution: the guard runs a call in a process that can be killed, fuel ends it reproducibly, memo remembers.

guard (the host's side, with guard_helper) talks over guard_wire to guard_child, which forks from the image that
guard_image prepares.
"""
