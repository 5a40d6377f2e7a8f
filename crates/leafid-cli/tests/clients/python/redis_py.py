"""Puts redis-py to a server of the Redis protocol, and prints what it saw as lines of JSON.

    redis_py.py check HOST:PORT default|2|3 [NAME [PASSWORD]]
    redis_py.py take HOST:PORT default|2|3 TAG ROUNDS

All numbers are printed as text, because they are ids. What the lines must say is for the caller
to check.
"""

import json
import sys

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry


def plain(value):
    if isinstance(value, Exception):
        return {"type": type(value).__name__, "text": str(value)}
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    if value is None or isinstance(value, bool):
        return value
    return str(value)


def show(step, run):
    try:
        line = {"step": step, "value": plain(run())}
    except redis.RedisError as error:
        line = {"step": step, "error": plain(error)}
    print(json.dumps(line), flush=True)


def connect(address, protocol, **options):
    host, port = address.rsplit(":", 1)
    if protocol != "default":
        options["protocol"] = int(protocol)
    return redis.Redis(host=host, port=int(port), **options)


def in_pipeline(client, transaction, *commands):
    pipeline = client.pipeline(transaction=transaction)
    for command in commands:
        pipeline.execute_command(*command)
    return pipeline.execute(raise_on_error=False)


def check(address, protocol, name=None, password=None):
    client = connect(address, protocol, client_name=name, password=password)
    call = client.execute_command
    show("hello", lambda: call("HELLO"))
    show("ping", client.ping)
    show("name", client.client_getname)
    show("incr", lambda: client.incr("order"))
    show("incrby", lambda: client.incrby("order", 10))
    show("get", lambda: client.get("order"))
    show("get unknown", lambda: client.get("nothing"))
    show("next", lambda: call("ID.NEXT", "order"))
    show("next many", lambda: call("ID.NEXT", "order", "3"))
    show("range", lambda: call("ID.RANGE", "order", "4"))
    show("pipeline", lambda: in_pipeline(client, False, *[("INCR", "order")] * 100))
    mixed = [("INCR", "order"), ("INCR", "user"), ("INCRBY", "order", 5), ("GET", "order")]
    show("mixed pipeline", lambda: in_pipeline(client, False, *mixed))
    broken = [("INCR", "order"), ("SET", "order", "1"), ("INCR", "order")]
    show("refused in pipeline", lambda: in_pipeline(client, False, *broken))
    show("transaction", lambda: in_pipeline(client, True, *mixed))
    show("refused in transaction", lambda: in_pipeline(client, True, *broken))
    show("unknown tag", lambda: client.incr("nothing"))
    show("set", lambda: client.set("order", "1"))
    show("delete", lambda: client.delete("order"))
    show("unknown command", lambda: call("FROBNICATE", "order"))
    show("select", lambda: call("SELECT", "0"))
    show("select another", lambda: call("SELECT", "99"))
    show("large incr", lambda: client.incr("large"))
    show("large next", lambda: call("ID.NEXT", "large", "2"))
    show("large get", lambda: client.get("large"))
    show("cut", lambda: sys.stdin.readline().strip())
    show("incr after the cut", lambda: client.incr("order"))
    show("name after the cut", client.client_getname)
    if password:
        # By default a refused password is tried again for seconds.
        once = {"retry": Retry(NoBackoff(), 0)}
        wrong = connect(address, protocol, password="wrong", **once)
        show("wrong password", lambda: wrong.incr("order"))
        nobody = connect(address, protocol, **once)
        show("no password", lambda: nobody.incr("order"))


def take(address, protocol, tag, rounds):
    """Takes ids in every way: each round 1 + 7 + 20 + 5 of them."""
    client = connect(address, protocol)
    for _ in range(int(rounds)):
        last = client.incrby(tag, 7)
        ids = [client.incr(tag), *range(last - 6, last + 1)]
        ids += in_pipeline(client, False, *[("INCR", tag)] * 20)
        ids += in_pipeline(client, True, *[("INCR", tag)] * 5)
        show("ids", lambda: ids)


if __name__ == "__main__":
    {"check": check, "take": take}[sys.argv[1]](*sys.argv[2:])
