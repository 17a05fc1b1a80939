"""Constants of nature: CODATA 2022 recommended values (NIST, public domain), frozen here, and their common names.

Each line of the table is name | value | standard uncertainty | unit; an uncertainty of 0 means exact, and then the
value is exact too, as a formula in the defining constants where it has no finite decimal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from maven_env.expressions import Node, parse

YEAR = 2022

_TABLE = """
alpha particle mass | 6.644657345e-27 | 2.1e-36 | kg
alpha particle mass energy equivalent | 5.9719201997e-10 | 1.9e-19 | J
alpha particle mass energy equivalent in MeV | 3727.3794118 | 1.2e-06 | MeV
alpha particle mass in u | 4.001506179129 | 6.2e-11 | u
alpha particle molar mass | 0.0040015061833 | 1.2e-12 | kg/mol
alpha particle relative atomic mass | 4.001506179129 | 6.2e-11 | 1
alpha particle rms charge radius | 1.6785e-15 | 2.1e-18 | m
alpha particle-electron mass ratio | 7294.29954171 | 1.7e-07 | 1
alpha particle-proton mass ratio | 3.972599690252 | 7e-11 | 1
atomic mass constant | 1.66053906892e-27 | 5.2e-37 | kg
atomic mass constant energy equivalent | 1.49241808768e-10 | 4.6e-20 | J
atomic mass constant energy equivalent in MeV | 931.49410372 | 2.9e-07 | MeV
Avogadro constant | 6.02214076e23 | 0 | 1/mol
Bohr magneton | 9.2740100657e-24 | 2.9e-33 | J/T
Bohr magneton in eV/T | 5.7883817982e-05 | 1.8e-14 | eV/T
Bohr magneton in Hz/T | 13996244917.1 | 4.4 | Hz/T
Bohr magneton in K/T | 0.67171381472 | 2.1e-10 | K/T
Bohr radius | 5.29177210544e-11 | 8.2e-21 | m
Boltzmann constant | 1.380649e-23 | 0 | J/K
Boltzmann constant in eV/K | 1.380649e-23/1.602176634e-19 | 0 | eV/K
Boltzmann constant in Hz/K | 1.380649e-23/6.62607015e-34 | 0 | Hz/K
characteristic impedance of vacuum | 376.730313412 | 5.9e-08 | ohm
classical electron radius | 2.8179403205e-15 | 1.3e-24 | m
Compton wavelength | 2.42631023538e-12 | 7.6e-22 | m
conductance quantum | 2*1.602176634e-19^2/6.62607015e-34 | 0 | S
deuteron g factor | 0.8574382335 | 2.2e-09 | 1
deuteron mag. mom. | 4.330735087e-27 | 1.1e-35 | J/T
deuteron mass | 3.3435837768e-27 | 1e-36 | kg
deuteron rms charge radius | 2.12778e-15 | 2.7e-19 | m
electron charge to mass quotient | -175882000838 | 55 | C/kg
electron g factor | -2.00231930436092 | 3.6e-13 | 1
electron gyromag. ratio | 176085962784 | 55 | 1/s/T
electron gyromag. ratio in MHz/T | 28024.9513861 | 8.7e-06 | MHz/T
electron mag. mom. | -9.2847646917e-24 | 2.9e-33 | J/T
electron mag. mom. anomaly | 0.00115965218046 | 1.8e-13 | 1
electron mag. mom. to Bohr magneton ratio | -1.00115965218046 | 1.8e-13 | 1
electron mag. mom. to nuclear magneton ratio | -1838.281971877 | 3.2e-08 | 1
electron mass | 9.1093837139e-31 | 2.8e-40 | kg
electron mass energy equivalent | 8.187105788e-14 | 2.6e-23 | J
electron mass energy equivalent in MeV | 0.51099895069 | 1.6e-10 | MeV
electron mass in u | 0.0005485799090441 | 9.7e-15 | u
electron molar mass | 5.4857990962e-07 | 1.7e-16 | kg/mol
electron relative atomic mass | 0.0005485799090441 | 9.7e-15 | 1
electron to alpha particle mass ratio | 0.0001370933554733 | 3.2e-15 | 1
electron volt | 1.602176634e-19 | 0 | J
electron-helion mass ratio | 0.0001819543074649 | 5.3e-15 | 1
electron-neutron mass ratio | 0.00054386734416 | 2.2e-13 | 1
electron-proton mass ratio | 0.0005446170214889 | 9.4e-15 | 1
electron-triton mass ratio | 0.0001819200062327 | 6.8e-15 | 1
elementary charge | 1.602176634e-19 | 0 | C
elementary charge over h-bar | 1.602176634e-19*2*pi/6.62607015e-34 | 0 | A/J
Faraday constant | 1.602176634e-19*6.02214076e23 | 0 | C/mol
fine-structure constant | 0.0072973525643 | 1.1e-12 | 1
first radiation constant | 2*pi*6.62607015e-34*299792458^2 | 0 | W*m^2
first radiation constant for spectral radiance | 2*6.62607015e-34*299792458^2 | 0 | W*m^2/sr
Hartree energy | 4.359744722206e-18 | 4.8e-30 | J
Hartree energy in eV | 27.211386245981 | 3e-11 | eV
helion mass | 5.0064127862e-27 | 1.6e-36 | kg
helion molar mass | 0.0030149322501 | 9.4e-13 | kg/mol
helion relative atomic mass | 3.014932246932 | 7.4e-11 | 1
helion-electron mass ratio | 5495.88527984 | 1.6e-07 | 1
helion-proton mass ratio | 2.993152671552 | 7e-11 | 1
hyperfine transition frequency of Cs-133 | 9192631770 | 0 | Hz
inverse fine-structure constant | 137.035999177 | 2.1e-08 | 1
inverse of conductance quantum | 6.62607015e-34/(2*1.602176634e-19^2) | 0 | ohm
Josephson constant | 2*1.602176634e-19/6.62607015e-34 | 0 | Hz/V
Loschmidt constant (273.15 K, 100 kPa) | 100000/(1.380649e-23*273.15) | 0 | 1/m^3
Loschmidt constant (273.15 K, 101.325 kPa) | 101325/(1.380649e-23*273.15) | 0 | 1/m^3
luminous efficacy | 683 | 0 | lm/W
mag. flux quantum | 6.62607015e-34/(2*1.602176634e-19) | 0 | Wb
molar gas constant | 1.380649e-23*6.02214076e23 | 0 | J/mol/K
molar mass of carbon-12 | 0.0120000000126 | 3.7e-12 | kg/mol
molar Planck constant | 6.62607015e-34*6.02214076e23 | 0 | J/Hz/mol
molar volume of ideal gas (273.15 K, 100 kPa) | 1.380649e-23*6.02214076e23*273.15/100000 | 0 | m^3/mol
molar volume of ideal gas (273.15 K, 101.325 kPa) | 1.380649e-23*6.02214076e23*273.15/101325 | 0 | m^3/mol
muon g factor | -2.00233184123 | 8.2e-10 | 1
muon mag. mom. | -4.4904483e-26 | 1e-33 | J/T
muon mass | 1.883531627e-28 | 4.2e-36 | kg
muon mass energy equivalent in MeV | 105.6583755 | 2.3e-06 | MeV
muon mass in u | 0.1134289257 | 2.5e-09 | u
muon-electron mass ratio | 206.7682827 | 4.6e-06 | 1
neutron Compton wavelength | 1.31959090382e-15 | 6.7e-25 | m
neutron g factor | -3.82608552 | 9e-07 | 1
neutron gyromag. ratio | 183247174 | 43 | 1/s/T
neutron gyromag. ratio in MHz/T | 29.1646935 | 6.9e-06 | MHz/T
neutron mag. mom. | -9.6623653e-27 | 2.3e-33 | J/T
neutron mag. mom. to Bohr magneton ratio | -0.00104187565 | 2.5e-10 | 1
neutron mag. mom. to nuclear magneton ratio | -1.91304276 | 4.5e-07 | 1
neutron mass | 1.67492750056e-27 | 8.5e-37 | kg
neutron mass energy equivalent | 1.50534976514e-10 | 7.6e-20 | J
neutron mass energy equivalent in MeV | 939.56542194 | 4.8e-07 | MeV
neutron mass in u | 1.00866491606 | 4e-10 | u
neutron molar mass | 0.00100866491712 | 5.1e-13 | kg/mol
neutron relative atomic mass | 1.00866491606 | 4e-10 | 1
neutron-electron mass ratio | 1838.683662 | 7.4e-07 | 1
neutron-proton mass difference | 2.30557461e-30 | 6.7e-37 | kg
neutron-proton mass difference energy equivalent | 2.07214712e-13 | 6e-20 | J
neutron-proton mass difference energy equivalent in MeV | 1.29333251 | 3.8e-07 | MeV
neutron-proton mass difference in u | 0.00138844948 | 4e-10 | u
neutron-proton mass ratio | 1.00137841946 | 4e-10 | 1
Newtonian constant of gravitation | 6.6743e-11 | 1.5e-15 | m^3/kg/s^2
nuclear magneton | 5.0507837393e-27 | 1.6e-36 | J/T
nuclear magneton in eV/T | 3.15245125417e-08 | 9.8e-18 | eV/T
nuclear magneton in K/T | 0.00036582677706 | 1.1e-13 | K/T
nuclear magneton in MHz/T | 7.6225932188 | 2.4e-09 | MHz/T
Planck constant | 6.62607015e-34 | 0 | J/Hz
Planck constant in eV/Hz | 6.62607015e-34/1.602176634e-19 | 0 | eV/Hz
Planck length | 1.616255e-35 | 1.8e-40 | m
Planck mass | 2.176434e-08 | 2.4e-13 | kg
Planck mass energy equivalent in GeV | 1.22089e19 | 140000000000000 | GeV
Planck temperature | 1.416784e32 | 1.6e27 | K
Planck time | 5.391247e-44 | 6e-49 | s
proton charge to mass quotient | 95788331.43 | 0.03 | C/kg
proton Compton wavelength | 1.3214098536e-15 | 4.1e-25 | m
proton g factor | 5.5856946893 | 1.6e-09 | 1
proton gyromag. ratio | 267522187.08 | 0.11 | 1/s/T
proton gyromag. ratio in MHz/T | 42.577478461 | 1.8e-08 | MHz/T
proton mag. mom. | 1.41060679545e-26 | 6e-36 | J/T
proton mag. mom. to Bohr magneton ratio | 0.0015210322023 | 4.5e-13 | 1
proton mag. mom. to nuclear magneton ratio | 2.79284734463 | 8.2e-10 | 1
proton mass | 1.67262192595e-27 | 5.2e-37 | kg
proton mass energy equivalent | 1.50327761802e-10 | 4.7e-20 | J
proton mass energy equivalent in MeV | 938.27208943 | 2.9e-07 | MeV
proton mass in u | 1.0072764665789 | 8.3e-12 | u
proton molar mass | 0.00100727646764 | 3.1e-13 | kg/mol
proton relative atomic mass | 1.0072764665789 | 8.3e-12 | 1
proton rms charge radius | 8.4075e-16 | 6.4e-19 | m
proton-electron mass ratio | 1836.152673426 | 3.2e-08 | 1
proton-neutron mass ratio | 0.99862347797 | 4e-10 | 1
quantum of circulation | 0.00036369475467 | 1.1e-13 | m^2/s
quantum of circulation times 2 | 0.00072738950934 | 2.3e-13 | m^2/s
reduced Compton wavelength | 3.8615926744e-13 | 1.2e-22 | m
reduced neutron Compton wavelength | 2.100194152e-16 | 1.1e-25 | m
reduced Planck constant | 6.62607015e-34/(2*pi) | 0 | J*s
reduced Planck constant in eV s | 6.62607015e-34/(2*pi*1.602176634e-19) | 0 | eV*s
reduced Planck constant times c in MeV fm | 6.62607015e-34*299792458/(2*pi*1.602176634e-19)*1e9 | 0 | MeV*fm
reduced proton Compton wavelength | 2.10308910051e-16 | 6.6e-26 | m
Rydberg constant | 10973731.568157 | 1.2e-05 | 1/m
Rydberg constant times c in Hz | 3289841960250000 | 3600 | Hz
Rydberg constant times hc in eV | 13.60569312299 | 1.5e-11 | eV
Rydberg constant times hc in J | 2.179872361103e-18 | 2.4e-30 | J
Sackur-Tetrode constant (1 K, 100 kPa) | -1.15170753496 | 4.7e-10 | 1
Sackur-Tetrode constant (1 K, 101.325 kPa) | -1.16487052149 | 4.7e-10 | 1
second radiation constant | 6.62607015e-34*299792458/1.380649e-23 | 0 | m*K
speed of light in vacuum | 299792458 | 0 | m/s
standard acceleration of gravity | 9.80665 | 0 | m/s^2
standard atmosphere | 101325 | 0 | Pa
standard-state pressure | 100000 | 0 | Pa
Stefan-Boltzmann constant | 2*pi^5*1.380649e-23^4/(15*6.62607015e-34^3*299792458^2) | 0 | W/m^2/K^4
tau mass | 3.16754e-27 | 2.1e-31 | kg
Thomson cross section | 6.6524587051e-29 | 6.2e-38 | m^2
triton mass | 5.0073567512e-27 | 1.6e-36 | kg
triton molar mass | 0.00301550071913 | 9.4e-13 | kg/mol
triton relative atomic mass | 3.01550071597 | 1e-10 | 1
triton-electron mass ratio | 5496.92153551 | 2.1e-07 | 1
triton-proton mass ratio | 2.99371703403 | 1e-10 | 1
vacuum electric permittivity | 8.8541878188e-12 | 1.4e-21 | F/m
vacuum mag. permeability | 1.25663706127e-06 | 2e-16 | N/A^2
von Klitzing constant | 6.62607015e-34/1.602176634e-19^2 | 0 | ohm
W to Z mass ratio | 0.88145 | 0.00013 | 1
weak mixing angle | 0.22305 | 0.00023 | 1
Wien frequency displacement law constant | (3 + LambertW(-3*exp(-3)))*1.380649e-23/6.62607015e-34 | 0 | Hz/K
Wien wavelength displacement law constant | 6.62607015e-34*299792458/(1.380649e-23*(5 + LambertW(-5*exp(-5)))) | 0 | m*K
"""

_ALIASES = """
speed of light in vacuum: c, c0, c_0, speed of light, light speed
Planck constant: h, planck
reduced Planck constant: hbar, h_bar, h-bar, dirac constant, Planck constant over 2 pi
elementary charge: e, q_e, electron charge magnitude, charge of the proton
electron volt: eV, electronvolt
Boltzmann constant: k_B, k, kB, boltzmann, k_b
Avogadro constant: N_A, NA, avogadro, avogadro number, Avogadro's number, L
molar gas constant: R, gas constant, universal gas constant, ideal gas constant, R_gas
Faraday constant: F, faraday
vacuum electric permittivity: eps0, eps_0, epsilon_0, epsilon0, vacuum permittivity, electric constant
vacuum electric permittivity: permittivity of free space
vacuum mag. permeability: mu0, mu_0, vacuum permeability, magnetic constant
vacuum mag. permeability: vacuum magnetic permeability, permeability of free space, mag. constant
characteristic impedance of vacuum: Z_0, Z0, impedance of free space, vacuum impedance
Newtonian constant of gravitation: G, gravitational constant, Newton constant, newtonian constant
Stefan-Boltzmann constant: sigma_SB, sigma, sigma_sb, stefan boltzmann constant, stefan-boltzmann
standard acceleration of gravity: g_n, g, g0, g_0, standard gravity, gravity
standard atmosphere: atm
standard-state pressure: standard state pressure
electron mass: m_e, me, mass of the electron
proton mass: m_p, mp, mass of the proton
neutron mass: m_n, mn, mass of the neutron
muon mass: m_mu
tau mass: m_tau
deuteron mass: m_d
alpha particle mass: m_alpha
atomic mass constant: u, m_u, amu, Da, dalton, atomic mass unit, unified atomic mass unit
fine-structure constant: alpha, fine structure constant
inverse fine-structure constant: alpha_inv, inverse fine structure constant
Rydberg constant: R_inf, R_infinity, Rinf, rydberg
Rydberg constant times hc in eV: Ry, rydberg energy in eV
Hartree energy: E_h, Eh, hartree
Bohr radius: a_0, a0
Bohr magneton: mu_B, muB
nuclear magneton: mu_N, muN
classical electron radius: r_e, electron radius
Thomson cross section: sigma_T, sigma_e
Compton wavelength: lambda_C, electron Compton wavelength
electron mag. mom.: mu_e, electron magnetic moment
proton mag. mom.: mu_p, proton magnetic moment
electron g factor: g_e
proton gyromag. ratio: gamma_p, proton gyromagnetic ratio
electron gyromag. ratio: gamma_e, electron gyromagnetic ratio
mag. flux quantum: Phi_0, Phi0, magnetic flux quantum, flux quantum
conductance quantum: G_0
Josephson constant: K_J
von Klitzing constant: R_K
first radiation constant: c_1, c1
second radiation constant: c_2, c2
Wien wavelength displacement law constant: b, wien, wien constant, Wien displacement law constant, b_wien
Wien frequency displacement law constant: b_prime, wien frequency constant
molar volume of ideal gas (273.15 K, 101.325 kPa): V_m, molar volume of ideal gas
Loschmidt constant (273.15 K, 101.325 kPa): n_0, loschmidt constant
proton-electron mass ratio: proton to electron mass ratio
luminous efficacy: K_cd
hyperfine transition frequency of Cs-133: Delta_nu_Cs, caesium frequency, cesium frequency
Planck mass: m_P
Planck length: l_P
Planck time: t_P
Planck temperature: T_P
"""


@dataclass(frozen=True)
class PhysicalConstant:
    """A constant in the unit given; `value` is a closed expression, exact if `uncertainty` is 0."""

    name: str
    value: Node
    uncertainty: float
    unit: str


@lru_cache(maxsize=1)
def _rows() -> dict[str, tuple[str, str, str]]:
    rows = (line.split(" | ") for line in _TABLE.strip().splitlines())
    return {name: (value, uncertainty, unit) for name, value, uncertainty, unit in rows}


@lru_cache(maxsize=1)
def names() -> dict[str, str]:
    """Return every name and alias as it is written, with the name in the table."""
    known = {name: name for name in _rows()}
    for line in _ALIASES.strip().splitlines():
        name, _, others = line.rpartition(": ")
        for other in others.split(", "):
            if known.setdefault(other, name) != name:
                raise ValueError(f"two constants are called {other!r}")
    return known


def constant(name: str) -> PhysicalConstant | None:
    """Return the constant of that name: as written, or for names of more than two letters in any case."""
    found = names().get(name) or _by_words().get(_words(name))
    if found is None:
        return None
    value, uncertainty, unit = _rows()[found]
    return PhysicalConstant(found, parse(value), float(uncertainty), unit)


def _words(name: str) -> str:
    plain = name.lower().replace("_", " ").replace("-", " ").removeprefix("the ")
    return " ".join(plain.split())


@lru_cache(maxsize=1)
def _by_words() -> dict[str, str]:
    """Map names in lower case to the constant; what would then mean two constants, or is a symbol, is left out."""
    found: dict[str, str | None] = {}
    for name, target in names().items():
        words = _words(name)
        if len(words) > 4:
            found[words] = target if found.get(words, target) == target else None
    return {words: target for words, target in found.items() if target is not None}
