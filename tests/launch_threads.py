"""Which threads launched compiled code, by the numbers that the operating system gives them."""

import json
import threading


def launch_threads(xla_tf, call):
    """The threads of the launches within call(): a list, in which "caller" stands for the thread that calls this."""
    with xla_tf.profile() as profile:
        call()
    launches = [event for event in json.loads(profile.trace)["traceEvents"] if event.get("cat") == "launch"]
    assert launches, "nothing was launched"
    caller = threading.get_native_id()
    return ["caller" if event["tid"] == caller else event["tid"] for event in launches]
