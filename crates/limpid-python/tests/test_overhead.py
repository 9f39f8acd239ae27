"""What a call costs beside the computation: arguments, GIL, arrays."""

import timeit

import limpid

# Microseconds; far above what a quiet machine measures, so that a busy one passes.
LIMIT = 20.0


def microseconds(call) -> float:
    call()
    return min(timeit.repeat(call, number=200, repeat=25)) / 200 * 1e6


def test_a_call_costs_less_than_twenty_microseconds(bert):
    embedder = limpid.Embedder(bert)
    tokenizer = embedder.tokenizer
    ids = tokenizer.encode("the cat sat")
    calls = {
        "embed([])": lambda: embedder.embed([]),
        "tokenizer.decode(ids)": lambda: tokenizer.decode(ids),
        "dimension": lambda: embedder.dimension,
    }
    found = {name: microseconds(call) for name, call in calls.items()}
    print({name: round(value, 2) for name, value in found.items()})
    assert all(value < LIMIT for value in found.values()), found
