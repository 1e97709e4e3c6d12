"""Seeded values of the kinds that people keep as JSON: the same everywhere, and no files."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

WORDS = (
    "the a to and of in is it you that for on was with as we be at this have from or one had by "
    "but not what all were when there can an your which their said if do will each about how up "
    "out them then she many some so these would other into has more her two like him see time "
    "could no make than first been its who now people my made over did down only way find use may "
    "water long little very after words called just where most know café naïve über señor 東京 😀"
).split()
NAMES = ("Ada", "Grace", "Edsger", "Barbara", "Donald", "Frances", "Tony", "Radia", "Zoë", "Jürgen")
TIME = 1_760_000_000_000


def _text(generator: random.Random, least: int, most: int) -> str:
    return " ".join(generator.choices(WORDS, k=generator.randint(least, most)))


def _date(generator: random.Random) -> str:
    number = generator.randrange
    return f"2026-{number(1, 13):02}-{number(1, 29):02}T{number(24):02}:{number(60):02}:00Z"


def social_media(count: int, seed: int = 1) -> dict[str, Any]:
    """Posts with their users, tags and mentions; much is null or empty."""
    generator = random.Random(seed)
    number = generator.randrange

    def user() -> dict[str, Any]:
        name = generator.choice(NAMES)
        at = number(1_000_000)
        return {
            "id": 10_000_000 + at,
            "name": name,
            "screen_name": f"{name.lower()}_{at}",
            "description": _text(generator, 0, 12),
            "url": None if number(3) else f"https://example.org/{at}",
            "followers_count": number(5000),
            "verified": number(50) == 0,
            "lang": generator.choice(("en", "ja", "de", "fr")),
        }

    def post(at: int) -> dict[str, Any]:
        tags = generator.choices(WORDS, k=number(3))
        return {
            "id": 505_874_000_000_000_000 + 1_000_003 * at,
            "created_at": _date(generator),
            "text": _text(generator, 3, 24),
            "truncated": False,
            "in_reply_to_id": None
            if number(4)
            else 505_874_000_000_000_000 + 1_000_003 * number(at),
            "user": user(),
            "entities": {
                "hashtags": [
                    {"text": tag, "indices": [3 * i, 3 * i + 2]} for i, tag in enumerate(tags)
                ],
                "mentions": [{"id": number(10**8), "name": generator.choice(NAMES)}] * number(2),
                "urls": [],
            },
            "retweet_count": number(100),
            "favorite_count": number(300),
            "geo": None,
        }

    posts = [post(at) for at in range(1, count + 1)]
    return {"statuses": posts, "search_metadata": {"count": count, "completed_in": 0.087}}


def catalogue(count: int, seed: int = 1) -> dict[str, Any]:
    """Products by number, each with attributes of its own and variants."""
    generator = random.Random(seed)
    number = generator.randrange
    attributes = [f"attribute_{at}" for at in range(40)]

    def product() -> dict[str, Any]:
        return {
            "title": _text(generator, 2, 6),
            "brand": f"Brand {number(60)}",
            "price": {"amount": number(100, 99_999) / 100, "currency": "EUR"},
            "categories": [f"Category {number(30)}" for _ in range(number(1, 4))],
            "attributes": {
                generator.choice(attributes): generator.choice(("red", "blue", number(500), True))
                for _ in range(number(2, 8))
            },
            "variants": [
                {"sku": f"{number(10**9):09}", "size": size, "stock": number(80)}
                for size in ("S", "M", "L", "XL")[: number(1, 5)]
            ],
            "rating": number(10, 51) / 10,
            "images": [f"https://cdn.example.org/p/{number(10**7)}.jpg" for _ in range(number(4))],
        }

    return {f"P{at:06}": product() for at in range(count)}


def events(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Events of some types, each with another payload."""
    generator = random.Random(seed)
    number = generator.randrange

    def payload(kind: str) -> dict[str, Any]:
        if kind == "push":
            commits = [
                {"sha": f"{generator.getrandbits(160):040x}", "message": _text(generator, 2, 9)}
                for _ in range(number(1, 4))
            ]
            return {"ref": "refs/heads/main", "size": len(commits), "commits": commits}
        if kind == "issue":
            labels = generator.choices(("bug", "docs", "help wanted"), k=number(3))
            return {
                "action": "opened",
                "number": number(9999),
                "title": _text(generator, 3, 9),
                "labels": labels,
            }
        if kind == "watch":
            return {"action": "started"}
        return {"forkee": {"id": number(10**8), "private": False, "stars": number(9)}}

    def event(at: int) -> dict[str, Any]:
        kind = generator.choice(("push", "push", "issue", "watch", "fork"))
        return {
            "id": str(20_000_000_000 + at),
            "type": kind,
            "actor": {
                "id": number(10**7),
                "login": f"{generator.choice(NAMES).lower()}{number(999)}",
            },
            "repo": {"id": number(10**6), "name": f"team{number(50)}/project{number(200)}"},
            "payload": payload(kind),
            "public": True,
            "created_at": _date(generator),
        }

    return [event(at) for at in range(count)]


def geo(count: int, seed: int = 1) -> dict[str, Any]:
    """GeoJSON: polygons of places with six digits, as maps have them."""
    generator = random.Random(seed)

    def ring() -> list[list[float]]:
        x, y = generator.uniform(-180, 180), generator.uniform(-85, 85)
        points = []
        for _ in range(generator.randint(8, 60)):
            x, y = x + generator.uniform(-0.01, 0.01), y + generator.uniform(-0.01, 0.01)
            points.append([round(x, 6), round(y, 6)])
        return [*points, points[0]]

    features = [
        {
            "type": "Feature",
            "properties": {"name": f"Place {at}", "admin_level": generator.randint(2, 10)},
            "geometry": {"type": "Polygon", "coordinates": [ring()]},
        }
        for at in range(count)
    ]
    return {"type": "FeatureCollection", "features": features}


def javascript_numbers(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Numbers as JavaScript prints them: a whole one has no fraction, so a field has both kinds."""
    generator = random.Random(seed)

    def printed(value: float) -> int | float:
        return int(value) if value.is_integer() else value

    def row(at: int) -> dict[str, Any]:
        price = generator.randrange(1000) / generator.choice((1, 2, 4, 10))
        change = generator.uniform(-1, 1)
        return {
            "time": TIME + 60_000 * at,
            "price": printed(price),
            "change": printed(round(change, 2)),
            "volume": printed(float(generator.randrange(10**6))),
            "mean": printed(price * (1 + change) / 3),
        }

    return [row(at) for at in range(count)]


def chat(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Messages of channels; few have reactions or answer another one."""
    generator = random.Random(seed)

    def message(at: int) -> dict[str, Any]:
        made: dict[str, Any] = {
            "id": f"{generator.getrandbits(64):016x}",
            "channel": f"general-{generator.randrange(12)}",
            "from": {"id": generator.randrange(400), "name": generator.choice(NAMES)},
            "sent": TIME + 900 * at,
            "text": _text(generator, 1, 20),
        }
        if generator.random() < 0.2:
            made["reactions"] = {
                generator.choice(("thumbsup", "tada", "eyes")): generator.randrange(1, 9)
            }
        if at and generator.random() < 0.15:
            made["reply_to"] = generator.randrange(at)
        if generator.random() < 0.05:
            made["edited"] = True
        return made

    return [message(at) for at in range(count)]


def configuration(count: int, seed: int = 1) -> dict[str, Any]:
    """Settings of services: deep, most are alike, few differ."""
    generator = random.Random(seed)

    def service(at: int) -> dict[str, Any]:
        return {
            "image": f"registry.example.org/service-{at}:1.{generator.randrange(30)}",
            "replicas": generator.choice((1, 2, 2, 3)),
            "env": {
                "LOG_LEVEL": generator.choice(("info", "info", "debug")),
                "DATABASE_URL": f"postgres://db-{generator.randrange(5)}.internal:5432/app",
                **{f"FEATURE_{generator.randrange(40)}": "on" for _ in range(3)},
            },
            "resources": {
                "limits": {"cpu": generator.choice(("500m", "1")), "memory": "512Mi"},
                "requests": {"cpu": "100m", "memory": "128Mi"},
            },
            "health": {
                "http": {"path": "/healthz", "port": 8080},
                "interval": 10,
                "timeout": generator.choice((1, 2.5)),
            },
            "routes": [{"host": f"service-{at}.example.org", "tls": True, "paths": ["/"]}],
        }

    services = {f"service-{at}": service(at) for at in range(count)}
    return {"version": 3, "defaults": service(0), "services": services}


# Each with how many of them a full run and a quick one take.
VALUES: dict[str, tuple[Callable[[int], Any], int, int]] = {
    "social media": (social_media, 2_000, 200),
    "catalogue": (catalogue, 2_000, 200),
    "events": (events, 5_000, 500),
    "geo": (geo, 500, 50),
    "numbers of JavaScript": (javascript_numbers, 10_000, 1_000),
    "chat": (chat, 10_000, 1_000),
    "configuration": (configuration, 500, 100),
}
