"""LiveBuf against its peers from PyPI, side by side in one run.

    python -m bench [--quick] [--filter NAME]

Run it in `bindings/python`, where `pip install --group bench` installs the peers; those that
are absent are named and left out. Each workload first proves that every library gives the same
answer, then times them in turns.

| module | job |
|---|---|
| `timing` | the clock: contests of competitors |
| `report` | figures, targets, the record |
| `formats` | the peers, as writers and readers of flat string maps |
| `generate` | seeded values, the same everywhere |
| `peak` | the most memory of a task, in a process of its own |
| `maps`, `concurrency`, `memory` | the benchmark of the Lite² paper |
| the others | a workload each |
"""
