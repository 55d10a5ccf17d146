"""Which seeds are for what, so that no board a model has trained on or was selected by is ever evaluated."""

EVALUATION_SEEDS = 2**32
_VALIDATION = 2**62
_TRAINING = 2**63


def checked_seed(seed: int) -> int:
    """`seed` if it is one for evaluation, 0 to 2**32 - 1; ValueError otherwise."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < EVALUATION_SEEDS:
        raise ValueError(f"seed must be an integer from 0 to {EVALUATION_SEEDS - 1}, got {seed!r}")
    return seed


def training_seed(seed: int) -> int:
    """The seed of the self-play boards of a run with this `seed`."""
    return _TRAINING + checked_seed(seed)


def validation_seed(seed: int) -> int:
    """The seed of the boards on which such a run is judged while it trains."""
    return _VALIDATION + checked_seed(seed)
