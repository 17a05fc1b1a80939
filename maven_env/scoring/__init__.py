"""Scoring of traces: equivalence, grounding, milestones, rubric. Deterministic, and pure: `score(problem, trace)`."""

from maven_env.scoring.rubric import Rubric, score

__all__ = ["Rubric", "score"]
