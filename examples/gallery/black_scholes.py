"""Prices of European options by the formula of Black and Scholes."""

import numpy as np
import xla


def normal_cdf(x):
    """Abramowitz and Stegun 26.2.17: correct to 7.5e-8."""
    t = 1 / (1 + 0.2316419 * np.abs(x))
    poly = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = np.exp(-0.5 * x * x) * 0.3989422804014327 * poly
    return np.where(x >= 0, 1 - tail, tail)


@xla.compile
def program(spot, strike, years, rate, volatility):
    """Arrays of one shape (n,) and two numbers: prices of calls and puts."""
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-rate * years)
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    return call, call - spot + discounted


def inputs(small, rng):
    n = 50 if small else 500000
    return 50 + 100 * rng.random(n), 50 + 100 * rng.random(n), 0.1 + 2 * rng.random(n), 0.03, 0.25
