"""Faults of what a call finds around it: another library, limits, a locale, strange servers."""

import contextlib
import http.server
import itertools
import random
import subprocess
import threading
from collections.abc import Iterator

from laboratory import TARGETS, Lab, Outcome, Said
from project import dmlbench, local_environment

_ANSWERS = {
    "an endless body": (200, {}),
    "a compressed body": (200, {"Content-Encoding": "gzip", "Content-Length": "9"}),
    "a strange length": (200, {"Content-Length": "-7"}),
    "an error": (500, {"Content-Length": "9"}),
}
_IN_ADDRESS = "never-printed"
_UPPER = ("download", "index", "pack", "split", "weights")
_LOWER = ("evaluate", "measure", "aggregate", "table", "figure", "tournament", "embedding_map")


def libraries(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """Another dmlbench is installed where jobs run; to import it is an error."""
    record, folder = lab.job("another library", number, chance)
    with lab.broken() as broken:
        other = broken.folder / "installed"
        (other / "dmlbench").mkdir(parents=True)
        (other / "dmlbench" / "__init__.py").write_text("raise ImportError('another library')\n")
        target = broken.remove(record, folder)
        said = broken.call("--", target, environment={"PYTHONPATH": str(other)})
        return lab.judged(broken, [said], record.rule)


def narrow(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """A job may use one core alone, whatever its threads are."""
    record, folder = lab.job("one core", number, chance)
    with lab.broken() as broken:
        target = broken.remove(record, folder)
        return lab.judged(broken, [broken.call("--", target, cores="1")], record.rule)


def limited(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """A job may open few files, or write small ones alone; then it may."""
    record, folder = lab.job("limited files", number, chance)
    what, limit = [("files", chance.randrange(8, 48)), ("size", chance.randrange(1 << 13))][
        number % 2
    ]
    with lab.broken() as broken:
        target = broken.remove(record, folder)
        said = [broken.call("--", target, **{what: str(limit)}), broken.call("--", target)]
        return lab.judged(broken, said, f"{record.rule}, {what}: {limit}")


def homes(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """The home folder cannot be made; the command says what to set, with which a job runs."""
    record, folder = lab.job("no home", number, chance)
    with lab.broken() as broken:
        target = broken.remove(record, folder)
        own = {"HOME": f"{broken.folder}/Snakefile/home", "XDG_CACHE_HOME": ""}
        said = dmlbench(broken.folder, "run", "toy", env=local_environment() | own)
        if f"no folder {own['HOME']}/.cache; set XDG_CACHE_HOME" not in said.stderr:
            return Outcome("silent", f"{record.rule}: {said.stderr[-500:]}")
        own["XDG_CACHE_HOME"] = str(broken.folder / "cache")
        again = broken.call("--", target, environment=own)
        line = f"dmlbench: {said.stderr.strip()}"
        return lab.judged(broken, [Said(said.returncode, line), again], record.rule)


def locales(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """A job and its call run where text is not UTF-8."""
    record, folder = lab.job("locale", number, chance)
    installed = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.split()
    latin = [name for name in installed if "8859" in name]
    locale = chance.choice(["C", *latin])
    own = {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with lab.broken() as broken:
        target = broken.remove(record, folder)
        said = broken.call("--", target, environment=own)
        return lab.judged(broken, [said], f"{record.rule}, {locale}")


def forced(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """A rule of images or weights and one below trainings are forced: both run, and the rest."""
    rules = [chance.choice(_UPPER), chance.choice(_LOWER)]
    note = " ".join(rules)
    with lab.broken() as broken:
        said = broken.call("--forcerun", *rules, "--", *TARGETS)
        stats = said.text.partition("Job stats:")[2].partition("\ntotal")[0].split()
        counts = {rule: count for rule, count in itertools.pairwise(stats) if count.isdigit()}
        wanted = {rule: str(len(lab.jobs[rule])) for rule in rules} | {"toy": "1"}
        if missing := [rule for rule, count in wanted.items() if counts.get(rule) != count]:
            return Outcome("silent", f"{note}: not planned: {missing} of {counts}")
        return lab.judged(broken, [said], note)


def servers(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """A mirror answers otherwise than it should; its address has a password."""
    what = list(_ANSWERS)[number % len(_ANSWERS)]
    rule = chance.choice(["download", "weights"])
    with lab.broken() as broken, _server(*_ANSWERS[what]) as port:
        target = broken.remove(*lab.jobs[rule][0])
        mirror = f"http://user:{_IN_ADDRESS}@127.0.0.1:{port}"
        said = broken.call("--", target, environment={"DMLBENCH_MIRROR": mirror})
        logs = [path.read_text() for path in (broken.results / "logs").rglob("*.log")]
        if any(_IN_ADDRESS in text for text in (said.text, *logs)):
            return Outcome("silent", f"{rule}, {what}: the password is printed")
        return lab.judged(broken, [said], f"{rule}, {what}")


@contextlib.contextmanager
def _server(status: int, headers: dict[str, str]) -> Iterator[int]:
    """A server that gives the same answer to all; its port."""

    class Strange(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for header in headers.items():
                self.send_header(*header)
            self.end_headers()
            bodies = itertools.repeat(bytes(1 << 16)) if not headers else [b"no images"]
            with contextlib.suppress(OSError):
                for part in bodies:
                    self.wfile.write(part)
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Strange) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()
