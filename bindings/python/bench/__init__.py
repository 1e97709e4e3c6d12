"""LiveBuf against its peers from PyPI, side by side in one run.

    python -m bench [--quick] [--filter NAME] [--record]

Run it in `bindings/python`, where `pip install --group bench` installs the peers; those that
are absent are named and left out. Each workload first proves that every library gives the same
answer, then times them in turns.

| module | job |
|---|---|
| `timing` | the clock: contests of competitors |
| `report` | figures, targets, the record |
| `formats` | the peers, as writers and readers of flat string maps |
| `maps`, `messages`, `twitter`, `objects`, `frames`, `arrays` | the workloads |
"""
