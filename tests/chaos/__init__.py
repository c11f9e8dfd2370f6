"""Crashes at every point, and at random ones: what must hold afterwards. Real processes, real SSH, real HTTP."""
