"""Writes `orders.json`, the file of the tutorial: `python docs/tutorial/orders.py`.

One day of a shop that there is only here. The same orders come out on every machine, since the
numbers are made by a few lines below. Three of them have mistakes, which the tutorial mends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COUNT = 900
DAY = "2026-11-27"
# What was mistyped: the number of the order, then the way to the value, and the value.
MISTAKES: dict[int, tuple[tuple[str | int, ...], object]] = {
    115: (("status",), "payed"),
    417: (("lines", 0, "quantity"), 200),
    662: (("customer", "city"), "Lisbonn"),
}

CITIES = [
    ("Leeds", "GB", 3),
    ("Lisbon", "PT", 4),
    ("Graz", "AT", 2),
    ("Lyon", "FR", 4),
    ("Utrecht", "NL", 3),
    ("Dresden", "DE", 5),
    ("Turin", "IT", 4),
    ("Gdansk", "PL", 2),
    ("Bergen", "NO", 1),
    ("Malmo", "SE", 2),
]
PRODUCTS = [
    ("tea-assam-250", "Assam, 250 g", 890),
    ("tea-sencha-100", "Sencha, 100 g", 1150),
    ("tea-earl-grey-250", "Earl Grey, 250 g", 990),
    ("tea-rooibos-500", "Rooibos, 500 g", 1290),
    ("coffee-ethiopia-500", "Ethiopia, whole beans, 500 g", 1490),
    ("coffee-decaf-250", "Decaf, ground, 250 g", 820),
    ("pot-glass-1l", "Teapot, glass, 1 l", 2990),
    ("pot-iron-08l", "Teapot, cast iron, 0.8 l", 5450),
    ("cup-blue-2", "Two cups, blue", 1600),
    ("strainer-steel", "Strainer, steel", 640),
    ("kettle-17l", "Kettle, 1.7 l", 3999),
    ("tin-square", "Tin, square", 475),
]
STATUSES = ["paid"] * 5 + ["shipped"] * 8 + ["delivered"] * 3 + ["cancelled"]
NOTES = [
    "Please ring twice.",
    "Leave it with the neighbours at number 12.",
    "It is a present: no invoice in the parcel, please.",
    "The last tin had a dent. Could you wrap this one better?",
]


def numbers(state: int) -> Iterator[int]:
    """Numbers that look random: Lehmer's generator, whose low digits are good enough."""
    while True:
        state = state * 48271 % 2147483647
        yield state


def orders() -> list[dict[str, Any]]:
    made = numbers(20261127)

    def pick(choices: list[Any]) -> Any:
        return choices[next(made) // 64 % len(choices)]

    def below(limit: int) -> int:
        return next(made) // 64 % limit

    cities = [(city, country) for city, country, often in CITIES for _ in range(often)]
    seconds = sorted(below(24 * 3600) for _ in range(COUNT))
    found = []
    for number, second in enumerate(seconds):
        city, country = pick(cities)
        products = {pick(PRODUCTS) for _ in range(1 + below(4))}
        lines = [
            {"sku": sku, "title": title, "quantity": 1 + below(3), "price": price / 100}
            for sku, title, price in sorted(products)
        ]
        total = sum(round(line["price"] * 100) * line["quantity"] for line in lines)
        order: dict[str, Any] = {
            "id": 41000 + number,
            "placed": f"{DAY}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z",
            "status": pick(STATUSES),
            "customer": {"id": 100 + below(2900), "city": city, "country": country},
            "lines": lines,
            "total": total / 100,
        }
        if below(12) == 0:
            order["coupon"] = pick(["AUTUMN10", "WELCOME5"])
        if below(15) == 0:
            order["note"] = pick(NOTES)
        found.append(order)
    for number, ((*way, last), value) in MISTAKES.items():
        place: Any = found[number]
        for step in way:
            place = place[step]
        place[last] = value
    return found


def text() -> str:
    """An order a line, so that the file can be looked at."""
    lines = ",\n".join(json.dumps(order, separators=(",", ":")) for order in orders())
    return f'{{"shop":"The Quiet Kettle","day":"{DAY}","orders":[\n{lines}\n]}}\n'


if __name__ == "__main__":
    Path(__file__).with_name("orders.json").write_text(text(), encoding="utf-8", newline="\n")
