"""Keystone's token cache without Keystone: oslo.cache as its configuration says, under constant load from several processes.

Each process looks tokens up, and stores those that it does not find. Twice a second a line says what has come of it so far.
"""

import collections
import json
import multiprocessing
import random
import sys
import time

from oslo_cache import core
from oslo_config import cfg
from pymemcache.client.rendezvous import RendezvousHash

TOKENS = 300
PAUSE_S = 0.01


def use(number, file, results):
    conf = cfg.ConfigOpts()
    core.configure(conf)
    conf(["--config-file", file], project="keystone")
    region = core.configure_cache_region(conf, core.create_region())
    homes = RendezvousHash(conf.cache.memcache_servers)
    chance = random.Random(number)
    tally = collections.Counter()
    failures = collections.Counter()
    slowest, told = 0, time.monotonic()
    while True:
        token = f"token-{chance.randrange(TOKENS)}"

        def issue():
            tally["misses"] += 1
            return {"user": number, "token": token}

        since = time.monotonic()
        try:
            region.get_or_create(token, issue)
        except Exception as error:
            failures[(homes.get_node(region.key_mangler(token)), type(error).__name__)] += 1
        now = time.monotonic()
        tally["operations"] += 1
        slowest = max(slowest, now - since)
        if now - told > 0.5:
            results.put((number, dict(tally), dict(failures), slowest))
            tally.clear()
            failures.clear()
            slowest, told = 0, now
        time.sleep(PAUSE_S)


def main(file, processes):
    results = multiprocessing.Queue()
    for number in range(processes):
        multiprocessing.Process(target=use, args=(number, file, results), daemon=True).start()
    total = collections.Counter()
    failures = collections.Counter()
    reports = [0] * processes
    slowest = 0
    while True:
        number, tally, failed, longest = results.get()
        total.update(tally)
        failures.update(failed)
        reports[number] += 1
        slowest = max(slowest, longest)
        failed = [{"server": server, "error": error, "count": count} for (server, error), count in failures.items()]
        line = {"reports": reports, "operations": total["operations"], "misses": total["misses"], "failed": failed}
        print(json.dumps({**line, "slowestMs": round(slowest * 1000)}), flush=True)


main(sys.argv[1], int(sys.argv[2]))
