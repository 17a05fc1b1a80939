"""Systems of algebraic equations: complete case splitting over polynomials, then every solution put back.

Products are split into their factors, an unknown that occurs linearly is eliminated (with the case that its coefficient
vanishes), one in an equation of its own is solved for, and resultants add consequences. No step loses a solution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from maven_env.errors import LimitExceeded
from maven_env.expressions.algebra.kernels import NotAlgebraic, Ratio, Ring
from maven_env.expressions.balls import Undecided, ball, precision
from maven_env.expressions.text import to_text
from maven_env.expressions.tree import Node, Symbol, free_symbols
from maven_env.tools.equations.branches import Unsolved
from maven_env.tools.equations.candidates import by_powers, roots_of_factor

CASES = 400
TERMS = 600
DEGREE = 60


@dataclass(frozen=True)
class Case:
    """Equations left (each = 0), what must not vanish, and the unknowns already given in terms of the others."""

    equations: tuple[Any, ...]
    nonzero: tuple[Any, ...]
    values: Mapping[str, Ratio]
    used: frozenset[tuple[str, str, int]] = frozenset()  # resultants taken


@dataclass
class SystemSolver:
    ring: Ring
    unknowns: Sequence[str]
    decimals: dict[str, Any] = field(default_factory=dict)
    generic: list[str] = field(default_factory=list)  # what was taken as nonzero
    found: list[Mapping[str, Ratio]] = field(default_factory=list)
    cases: int = 0
    index: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, residuals: Sequence[Node], unknowns: Sequence[str]) -> SystemSolver:
        """Solve residuals = 0. Raises Unsolved, LimitExceeded."""
        ring = Ring()
        try:
            tops, poles = ring.ratios(residuals, unknowns)
        except NotAlgebraic as error:
            raise Unsolved(error.message) from None
        for kernel in ring.kernels:
            if kernel.kind not in ("symbol", "constant", "surd") and free_symbols(kernel.node) & set(unknowns):
                raise Unsolved(
                    f"{to_text(kernel.node)} is not algebraic in the unknowns", "use nsolve with start values"
                )
        solver = cls(ring, unknowns)
        solver.index = {kernel.node.name: kernel.index for kernel in ring.kernels if isinstance(kernel.node, Symbol)}
        solver.split(Case(tuple(tops), tuple(poles), {}))
        return solver

    # ---- the splitting -----------------------------------------------------------------------------------------------
    def split(self, case: Case) -> None:
        self.cases += 1
        if self.cases > CASES:
            raise LimitExceeded("size", f"more than {CASES} cases to tell apart", "solve a part of the system first")
        reduced = self.reduced(case)
        if reduced is None:
            return
        factored = [(p, self.factors(p, reduced.nonzero)) for p in reduced.equations]
        if any(not factors for _, factors in factored):
            return  # an equation whose every factor is known not to vanish
        several = [(p, factors) for p, factors in factored if len(factors) > 1 or factors[0] != p]
        if several:
            chosen, factors = min(several, key=lambda item: len(item[1]))
            rest = tuple(p for p in reduced.equations if p is not chosen)
            for i, factor in enumerate(factors):
                nonzero = (*reduced.nonzero, *factors[:i])
                self.split(Case((factor, *rest), nonzero, reduced.values, reduced.used))
            return
        if not reduced.equations:
            self.found.append(reduced.values)
            return
        self.eliminate(reduced)

    def reduced(self, case: Case) -> Case | None:
        """Drop equations that hold; None if one cannot hold or something that must not vanish does."""
        left = []
        for polynomial in {str(p): p for p in case.equations}.values():
            if self.variables(polynomial):
                left.append(polynomial)
            elif not self.vanishes(polynomial):
                return None
        for polynomial in case.nonzero:
            if polynomial == 0 or (not self.variables(polynomial) and self.vanishes(polynomial)):
                return None
        for polynomial in left:
            if len(polynomial) > TERMS or polynomial.total_degree() > DEGREE:
                raise LimitExceeded(
                    "size", "the system grows too large while eliminating", "use nsolve with start values"
                )
        nonzero = tuple(p for p in case.nonzero if self.variables(p))
        return Case(tuple(left), nonzero, case.values, case.used)

    def variables(self, polynomial: Any) -> list[str]:
        degrees = polynomial.degrees()
        return [name for name in self.unknowns if name in self.index and degrees[self.index[name]] > 0]

    def vanishes(self, polynomial: Any) -> bool:
        """Decide a polynomial without unknowns: exactly, by balls, or generically if there are parameters."""
        if polynomial == 0:
            return True
        if polynomial.is_constant():
            return False
        node = self.ring.polynomial_node(polynomial)
        if free_symbols(node) - set(self.decimals):
            factors = [to_text(self.ring.polynomial_node(f)) for f, _ in polynomial.factor()[1]]
            self.generic += [f"{text} != 0" for text in factors if f"{text} != 0" not in self.generic]
            return False
        for bits in (420, 1_300):
            with precision(bits):
                try:
                    value = ball(node, {name: root.refined(bits) for name, root in self.decimals.items()})
                except Undecided:
                    raise Unsolved("a constant cannot be evaluated") from None
            if not value.contains(0):
                return False
        return True

    def vanishes_generically(self, polynomial: Any) -> bool:
        """As `vanishes`; unknowns that stay free count as parameters."""
        return False if self.variables(polynomial) else self.vanishes(polynomial)

    def factors(self, polynomial: Any, nonzero: Sequence[Any]) -> list[Any]:
        known = {str(p) for p in nonzero} | {str(f) for p in nonzero for f, _ in p.factor()[1]}
        parts = []
        for factor, _ in polynomial.factor()[1]:
            if not self.variables(factor):
                if self.vanishes(factor):
                    return [self.ring.zero]
            elif str(factor) not in known:
                parts.append(factor)
        return [polynomial] if len(parts) == 1 and str(parts[0]) == str(polynomial) else parts

    def eliminate(self, case: Case) -> None:
        """All equations are irreducible here: eliminate one unknown."""
        simple = [
            (p, v, parts) for p in case.equations for v in self.variables(p) if len(parts := self.powers(p, v)) == 2
        ]
        plain = [item for item in simple if not self.variables(item[2][1])]
        if plain:
            polynomial, name, parts = min(plain, key=lambda item: len(item[0]))
            return self.substitute(case, polynomial, name, parts)
        alone = [(p, self.variables(p)[0]) for p in case.equations if len(self.variables(p)) == 1]
        if alone:
            polynomial, name = min(alone, key=lambda item: item[0].degrees()[self.index[item[1]]])
            return self.solve_alone(case, polynomial, name)
        if simple:
            polynomial, name, parts = min(simple, key=lambda item: (len(item[2][1]), len(item[0])))
            rest = tuple(p for p in case.equations if p is not polynomial)
            self.substitute(case, polynomial, name, parts)
            return self.split(Case((parts[1], parts[0], *rest), case.nonzero, case.values, case.used))
        return self.resultant(case)

    def powers(self, polynomial: Any, name: str) -> list[Any]:
        return by_powers(self.ring, polynomial, self.index[name])

    def substitute(self, case: Case, polynomial: Any, name: str, parts: Sequence[Any]) -> None:
        """Use name = -parts[0]/parts[1], for parts[1] not zero."""
        value = self.ring.divide(Ratio(-parts[0], self.ring.one), Ratio(parts[1], self.ring.one))
        rest = tuple(p for p in case.equations if p is not polynomial)
        nonzero = case.nonzero if not self.variables(parts[1]) else (*case.nonzero, parts[1])
        if not self.variables(parts[1]) and self.vanishes(parts[1]):
            raise Unsolved("a leading coefficient cannot be told from zero")
        self.put(Case(rest, nonzero, case.values, case.used), name, value)

    def put(self, case: Case, name: str, value: Ratio) -> None:
        equations = tuple(self.composed(p, name, value).top for p in case.equations)
        nonzero = tuple(self.composed(p, name, value).top for p in case.nonzero)
        values = {key: self.composed_ratio(ratio, name, value) for key, ratio in case.values.items()}
        if any(ratio is None for ratio in values.values()):
            return  # the denominator vanishes, which is another case
        self.split(Case(equations, nonzero, {**values, name: value}, case.used))  # type: ignore[dict-item]

    def composed(self, polynomial: Any, name: str, value: Ratio) -> Ratio:
        total = Ratio(self.ring.zero, self.ring.one)
        for part in reversed(self.powers(polynomial, name) if polynomial != 0 else []):
            total = self.ring.add(self.ring.multiply(total, value), Ratio(part, self.ring.one))
        return total

    def composed_ratio(self, ratio: Ratio, name: str, value: Ratio) -> Ratio | None:
        bottom = self.composed(ratio.bottom, name, value)
        if bottom.top == 0:
            return None
        return self.ring.divide(self.composed(ratio.top, name, value), bottom)

    def solve_alone(self, case: Case, polynomial: Any, name: str) -> None:
        """Solve an equation in one unknown only; each root is a case."""
        kernel = self.ring.kernels[self.index[name]]
        if self.vanishes_generically(self.powers(polynomial, name)[-1]):
            raise Unsolved("a leading coefficient cannot be told from zero")
        roots = roots_of_factor(self.ring, polynomial, kernel, 1, f"root{len(self.decimals) + self.cases}n")
        rest = tuple(p for p in case.equations if p is not polynomial)
        for root in roots:
            self.decimals.update(root.decimals)
            value = self.ring.convert(root.node)
            self.put(Case(rest, case.nonzero, case.values, case.used), name, value)

    def resultant(self, case: Case) -> None:
        """Add the resultant of two equations, which every solution satisfies."""
        pairs = sorted(
            (p.total_degree() * q.total_degree(), i, j, name)
            for i, p in enumerate(case.equations)
            for j, q in enumerate(case.equations[:i])
            for name in self.variables(p)
            if name in self.variables(q)
        )
        for effort, i, j, name in pairs:
            p, q = case.equations[i], case.equations[j]
            key = (str(p), str(q), self.index[name])
            if key in case.used or effort > 36:
                continue
            consequence = p.resultant(q, f"g{self.index[name]}")
            if consequence == 0:
                continue
            more = Case((*case.equations, consequence), case.nonzero, case.values, case.used | {key})
            return self.split(more)
        if len(case.equations) == 1:  # one equation in several unknowns: a curve that is solved for one of them
            polynomial = case.equations[0]
            name = min(self.variables(polynomial), key=lambda v: polynomial.degrees()[self.index[v]])
            return self.solve_alone(case, polynomial, name)
        raise Unsolved("the equations are too entangled for exact elimination", "use nsolve with start values")
