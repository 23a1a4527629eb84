"""What benches run, some of it side by side: Prometheus and Inferometer, started, asked, filled, stopped."""
import collections
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
PROGRAM = pathlib.Path(os.environ.get("INFEROMETER_BIN", BUILD / "inferometer")).resolve()
INTERVAL_S = 15
DAY_S = 24 * 3600
STEPS_A_DAY = DAY_S // INTERVAL_S
NOWHERE = "http://127.0.0.1:9"


def fail(text):
    sys.exit(f"{pathlib.Path(sys.argv[0]).parent.name}/{pathlib.Path(sys.argv[0]).name}: {text}")


def wait_for(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            fail(f"waited {seconds} s in vain for {what}")
        time.sleep(0.02)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(port, path):
    """Status and body; status 0 where nobody answers."""
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""


def memory_kib(pid):
    """Resident size, and the part of it that is no file's."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="latin1")
    return tuple(int(re.search(rf"{name}:\s+(\d+)", text)[1]) for name in ("VmRSS", "RssAnon"))


def cpu_ns(pid):
    """CPU time so far to the nanosecond, by names of threads; of those that ended nothing is told."""
    spent = collections.Counter()
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            spent[(task / "comm").read_text(encoding="latin1").strip()] += int((task / "schedstat").read_text(encoding="ascii").split()[0])
    return spent


def disk_bytes(directory, pattern="**/*"):
    return sum(f.stat().st_size for f in pathlib.Path(directory).glob(pattern) if f.is_file())


def drop_from_cache(directory):
    """The next reader of these files finds them on the disk only."""
    os.sync()
    for f in pathlib.Path(directory).glob("**/*"):
        if f.is_file():
            fd = os.open(f, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


class Server:
    """A process that answers Prometheus' API on a port."""

    def __init__(self, process, port, gateway=None):
        self.process, self.port, self.gateway = process, port, gateway

    @property
    def pid(self):
        return self.process.pid

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def query(self, kind="query", **parameters):
        status, body = get(self.port, f"/api/v1/{kind}?{urllib.parse.urlencode(parameters)}")
        return json.loads(body)["data"]["result"] if status == 200 else None

    def timed(self, kind, parameters):
        """Milliseconds of one answer, and its result."""
        begin = time.perf_counter()
        status, body = get(self.port, f"/api/v1/{kind}?{urllib.parse.urlencode(parameters)}")
        spent_ms = (time.perf_counter() - begin) * 1e3
        if status != 200:
            fail(f"a query was answered with {status}: {body[:300]}")
        return spent_ms, json.loads(body)["data"]["result"]


def start_prometheus(directory, target=None, evaluation="1s", **keys):
    """Prometheus on a data directory; target is HOST:PORT to scrape every second; keys go into its configuration."""
    config = pathlib.Path(directory) / "prometheus.yml"
    scrape = [dict(job_name="inferometer", static_configs=[dict(targets=[target])])] if target else []
    config.write_text(json.dumps({"global": dict(scrape_interval="1s", scrape_timeout="1s", evaluation_interval=evaluation),
                                  "scrape_configs": scrape, **keys}))
    port = free_port()
    p = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={directory}/data",
                          "--storage.tsdb.retention.time=30d", f"--web.listen-address=127.0.0.1:{port}",
                          "--log.level=error"])
    wait_for("Prometheus", lambda: p.poll() is not None or get(port, "/-/ready")[0] == 200)
    return Server(p, port)


def start_alertmanager(directory):
    config = pathlib.Path(directory) / "alertmanager.yml"
    config.write_text(json.dumps(dict(route=dict(receiver="nobody"), receivers=[dict(name="nobody")])))
    port = free_port()
    p = subprocess.Popen(["prometheus-alertmanager", f"--config.file={config}", f"--storage.path={directory}/alertmanager",
                          f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=", "--log.level=error"])
    wait_for("Alertmanager", lambda: p.poll() is not None or get(port, "/-/ready")[0] == 200)
    return Server(p, port)


def start_inferometer(directory, upstream=NOWHERE, data=True, under=(), **keys):
    """The gateway on directory/data; under: a command that runs it; keys go into its configuration, in place of what is here."""
    config = pathlib.Path(directory) / "inferometer.yaml"
    here = dict(data_dir=f"{directory}/data") if data else {}
    config.write_text(json.dumps({**dict(listen=["127.0.0.1:0"], admin=dict(listen="127.0.0.1:0"), workers=1,
                                         upstreams=[dict(url=upstream)],
                                         log=dict(file=f"{directory}/requests.jsonl", level="warn")), **here, **keys}))
    p = subprocess.Popen([*under, PROGRAM, "serve", "-c", config], stdout=subprocess.PIPE, text=True,
                         stderr=subprocess.DEVNULL if under else None)
    ports = re.search(r"listen=\S+:(\d+) admin=\S+:(\d+)", p.stdout.readline())
    if not ports:
        fail("the gateway did not start")
    return Server(p, int(ports[2]), int(ports[1]))


def start_engine(*flags):
    p = subprocess.Popen([PROGRAM, "sim", "--listen", "127.0.0.1:0", "--truth", "0", *flags],
                         stdout=subprocess.PIPE, text=True)
    return Server(p, int(re.search(r":(\d+)\s*$", p.stdout.readline())[1]))


def start_load(server, model, max_tokens, *flags):
    return subprocess.Popen([PROGRAM, "load", "--url", f"http://127.0.0.1:{server.gateway}/v1/chat/completions",
                             "--model", model, "--max-tokens", str(max_tokens), *map(str, flags)],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def import_into_prometheus(text, directory):
    """As its blocks are after compaction of a day: at most 18 h long."""
    subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet", "--max-block-duration=18h",
                    text, f"{directory}/data"], check=True, stdout=subprocess.DEVNULL)


def import_into_inferometer(text, directory, later_h=0):
    """Returns the number of samples."""
    os.makedirs(f"{directory}/data", exist_ok=True)
    p = subprocess.run([BUILD / "bench_history_fill", "text", text, f"{directory}/data", str(later_h)],
                       check=True, capture_output=True, text=True)
    return int(p.stdout)


# --- data ---

BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.35, 0.5, 0.75, 1, 1.5, 2.5, 5, 7.5, 10, 20, 60]


def write_histograms(path, n_models, n_instances, n_steps, end_s):
    """Classic histograms x_bucket with 20 buckets each, a sample every INTERVAL_S, the last at end_s."""
    draw = random.Random(1)
    names, totals, shapes = [], [], []
    for model in range(n_models):
        for instance in range(n_instances):
            prefix = f'x_bucket{{instance="10.0.0.{instance}:9464",job="bench",model="model-{model}",le="'
            names.append([f'{prefix}{le}"}} ' for le in [*BOUNDS, "+Inf"]])
            totals.append([0] * (len(BOUNDS) + 1))
            shapes.append([cumulative(draw, 0.2 * (1 + model)) for _ in range(97)])
    with open(path, "w", encoding="ascii") as f:
        for step in range(n_steps):
            stamp = f" {end_s - (n_steps - 1 - step) * INTERVAL_S}\n"
            for prefixes, values, shape in zip(names, totals, shapes):
                values[:] = map(int.__add__, values, draw.choice(shape))
                f.write("".join([p + str(v) + stamp for p, v in zip(prefixes, values)]))
        f.write("# EOF\n")


def cumulative(draw, median):
    """What one interval adds to each bucket: some 30 requests with latencies around a median."""
    seen = [draw.lognormvariate(0, 0.8) * median for _ in range(draw.randrange(60))]
    return [sum(s <= bound for s in seen) for bound in [*BOUNDS, float("inf")]]


def is_counter(name):
    return name.endswith(("_total", "_bucket", "_count", "_sum"))


class Stretched:
    """A recorded series that goes on: what it did in a drawn step, at the pace of the hour."""

    def __init__(self, metric, values, n_steps):
        labels = ",".join(f'{k}="{v}"' for k, v in sorted(metric.items()) if k != "__name__")
        self.prefix = f'{metric["__name__"]}{{{labels}}} '
        self.decimals = max(9 if "e" in v else len(v.partition(".")[2]) for v in values)
        numbers = [float(v) for v in values]
        numbers = [numbers[0]] * (n_steps - len(numbers)) + numbers
        self.is_counter = is_counter(metric["__name__"])
        self.values = [b - a for a, b in zip(numbers, numbers[1:])] if self.is_counter else numbers[1:]
        self.total = numbers[-1]

    def line(self, at, pace, nudge, stamp):
        v = self.values[at]
        if self.is_counter:
            v *= pace
            v = self.total = self.total + (int(v + nudge) if self.decimals == 0 else v * (0.9 + 0.2 * nudge))
        return f"{self.prefix}{v:.{self.decimals}f}{stamp}"


def write_stretched(path, recorded, n_steps, end_s):
    """A longer history of the nature of a recorded one (a matrix of the API): its steps drawn anew, with the
    pace of a day; counters go on."""
    draw = random.Random(2)
    longest = max(len(s["values"]) for s in recorded)
    series = [Stretched(s["metric"], [v for _, v in s["values"]], longest) for s in recorded]
    with open(path, "w", encoding="ascii") as f:
        for step in range(n_steps):
            at, nudge = draw.randrange(longest - 1), draw.random()
            pace = 0.2 + 0.8 * abs(1 - 2 * step / n_steps)
            stamp = f" {end_s - (n_steps - 1 - step) * INTERVAL_S}\n"
            f.write("".join([s.line(at, pace, nudge, stamp) for s in series]))
        f.write("# EOF\n")
    return len(series)
