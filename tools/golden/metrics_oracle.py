#!/usr/bin/env python3
"""Writes tests/metrics/oracle.json and closed_form.json: measures of small maps by dense least
squares and pair by pair (numpy).

Nothing here shares an idea with src/metrics: design matrices are built pair by pair and solved with
numpy.linalg.lstsq, products of groups are averaged pair by pair, and the jackknife repeats the whole
estimate without one group at a time.

    pip install numpy && python tools/golden/metrics_oracle.py
"""

import itertools
import json
import pathlib

import numpy as np


def residuals(values, rows, columns):
    """values minus their least-squares fit with the indicator columns (a list of index arrays)."""
    design = [np.eye(index.max() + 1)[index] for index in columns]
    design = np.concatenate([np.eye(rows.max() + 1)[rows]] + design, axis=1)
    return values - design @ np.linalg.lstsq(design, values, rcond=None)[0]


def mean_square(maps):
    """The mean over pairs of different maps of their mean product; one map: its mean square."""
    if len(maps) == 1:
        return float(np.mean(maps[0] ** 2))
    pairs = itertools.permutations(range(len(maps)), 2)
    return float(np.mean([np.mean(maps[a] * maps[b]) for a, b in pairs]))


def slope(maps, rows, distance):
    x = residuals(np.log1p(distance), rows, [])
    return float(np.mean([x @ values / (x @ x) for values in maps]))


def plain(maps, distance, by_diagonal):
    """mean_square() of what one mean, or the diagonals' means, leave of each map."""
    design = np.eye(distance.max() + 1)[distance] if by_diagonal else np.ones((len(distance), 1))
    return mean_square([m - design @ np.linalg.lstsq(design, m, rcond=None)[0] for m in maps])


def key_order(maps, rows, keys, what):
    """Counts over the keys j < k of each query of the mean map, pair by pair."""
    mean = np.mean(maps, axis=0).astype(np.float32)
    won = count = 0
    for query in sorted(set(rows)):
        scores = [mean[(rows == query) & (keys == key)][0] for key in sorted(keys[rows == query])]
        if len(scores) < 2:
            continue
        if what == "rows":
            won += all(a < b for a, b in zip(scores, scores[1:]))
            count += 1
            continue
        for a, b in zip(scores, scores[1:]) if what == "steps" else itertools.combinations(scores, 2):
            won += 1 if a < b else 0.5 if a == b else 0
            count += 1
    return won / count


def first_key_excess(maps, rows, keys, first_key):
    mean = np.mean(maps, axis=0)
    excess = [
        mean[(rows == query) & (keys == first_key)][0]
        - mean[(rows == query) & (keys > first_key)].mean()
        for query in sorted(set(rows[keys == first_key]))
        if any((rows == query) & (keys > first_key))
    ]
    return float(np.mean(excess))


def jackknife(statistic, groups):
    count = len(groups)
    left = [statistic(groups[:k] + groups[k + 1 :]) for k in range(count)]
    return float(np.sqrt((count - 1) / count * np.sum((left - np.mean(left)) ** 2)))


def measure(groups, first_key, window):
    n = groups[0].shape[0]
    pairs = [
        (i, j)
        for i in range(n)
        for j in range(first_key, i)
        if i - j < window
    ]
    i, j = np.array(pairs).T
    spaces = {
        "total": [],
        "nonrelative": [i - j],
        "nonkey": [j],
        "remainder": [i - j, j],
    }
    result = {}
    maps = [group[i, j].astype(np.float64) for group in groups]
    left = {name: [residuals(m, i, columns) for m in maps] for name, columns in spaces.items()}
    order = range(len(maps))

    def estimate(name, statistic, fewest):
        value = statistic(list(order))
        error = jackknife(statistic, list(order)) if len(maps) >= fewest else None
        result[name] = [value, error]

    for name in spaces:
        estimate(name, lambda which, r=left[name]: mean_square([r[k] for k in which]), 3)
    for name in list(spaces)[1:]:
        estimate(
            name + "_share",
            lambda which, r=left[name]: mean_square([r[k] for k in which])
            / mean_square([left["total"][k] for k in which]),
            3,
        )
    estimate("nearness", lambda which: slope([maps[k] for k in which], i, i - j), 2)
    def of(function, *arguments):
        return lambda which: function([maps[k] for k in which], *arguments)

    estimate("variance", of(plain, i - j, False), 3)
    estimate("diagonal_normalised", of(plain, i - j, True), 3)
    estimate(
        "diagonal_normalised_share",
        lambda which: of(plain, i - j, True)(which) / of(plain, i - j, False)(which),
        3,
    )
    estimate("recency_of_mean", of(key_order, i, j, "pairs"), 2)
    estimate("rising_steps_of_mean", of(key_order, i, j, "steps"), 2)
    estimate("rising_rows_of_mean", of(key_order, i, j, "rows"), 2)
    estimate("first_key_excess", of(first_key_excess, i, j, first_key), 2)
    result["nonrelative_residual"] = residuals(np.mean(maps, axis=0), i, [i - j]).tolist()
    return result


def example(random, n, count, window):
    """A map with every kind of structure, and noise per group; exact in single precision."""
    i, j = np.indices((n, n))
    signal = 2 * np.log1p(abs(i - j)) + 0.5 * random.normal(size=n)[j] + random.normal(size=n)[:, None]
    signal = signal + 0.2 * np.sqrt(i * j) + 3 * (j == 0)
    groups = []
    for _ in range(count):
        noisy = signal + 0.3 * random.normal(size=(n, n))
        noisy = np.round(noisy * 1024) / 1024
        noisy[(j > i) | (i - j >= window)] = np.nan
        groups.append(noisy.astype(np.float32))
    return groups


def closed_form(n, alpha, residual):
    """Layer 2 of the parameter-free Transformer, L2 norm: arXiv 2509.21042, appendix A."""
    e, p = np.e, np.exp(alpha)
    i = np.arange(1, n + 1)
    d = e + (i - 1) * p
    if residual:
        g = 2 * (2 * alpha * e + p * (1 + alpha * (2 * i - 3))) / d
        a = 2 * e + (i - 1) * p
        h2 = a**2 + 2 * a * p * alpha * (i - 1) + p**2 * (i - 1) * (1 + (i - 2) * alpha)
    else:
        g = (e * alpha + p * (1 + alpha * (i - 2))) / d
        h2 = e**2 + 2 * e * p * alpha * (i - 1) + p**2 * (i - 1) * (1 + alpha * (i - 2))
    h = np.sqrt(h2) / d
    return np.where(i[:, None] > i[None, :], g[:, None] / np.outer(h, h), 1)


def closed_form_shares():
    """Shares of closed-form maps, which no program of ours had a hand in."""
    cases = []
    for n, alpha, residual in itertools.product((10, 30), (0, 0.5, 0.9), (True, False)):
        case = {"n": n, "alpha": alpha, "residual": residual}
        for first_key, suffix in ((0, ""), (1, "_without_first_key")):
            measures = measure([closed_form(n, alpha, residual)], first_key, n)
            del measures["nonrelative_residual"]
            case.update({name + suffix: value for name, (value, _) in measures.items()})
        cases.append(case)
    return cases


def main():
    random = np.random.default_rng(20250921)
    cases = []
    for n, count, window in [(4, 3, 4), (9, 1, 9), (12, 4, 12), (13, 3, 5), (20, 3, 20), (16, 2, 3)]:
        groups = example(random, n, count, window)
        for first_key in (0, 1) if n > 4 else (0,):
            cases.append(
                {
                    "n": n,
                    "window": window,
                    "first_key": first_key,
                    "groups": [
                        [None if np.isnan(x) else float(x) for x in group.flat] for group in groups
                    ],
                    "expected": measure(groups, first_key, window),
                }
            )
    path = pathlib.Path(__file__).parents[2] / "tests/metrics/oracle.json"
    for path, content in ((path, cases), (path.with_name("closed_form.json"), closed_form_shares())):
        path.write_text(json.dumps(content, separators=(",", ":")) + "\n")
        print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
