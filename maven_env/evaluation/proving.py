"""Prove many templates, in this process or side by side."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from maven_env.evaluation.proof import Proof, prove
from maven_env.problems import library


def prove_one(template_id: str, draws: int) -> Proof:
    """Prove one template by its id."""
    return prove(library.template(template_id), draws)


def prove_all(template_ids: Sequence[str], draws: int, jobs: int = 1) -> Iterator[Proof]:
    """Yield the proof of each template, in order with one job, as they are done with several."""
    if jobs == 1:
        yield from (prove_one(template_id, draws) for template_id in template_ids)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(template_ids)), mp_context=context) as pool:
        for future in as_completed([pool.submit(prove_one, template_id, draws) for template_id in template_ids]):
            yield future.result()
