"""Running agents and judging templates: runner, records, summary; scripts and policies that play, proof that proves."""
