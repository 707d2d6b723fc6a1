"""A page as parsed by a browser."""

from html.parser import HTMLParser
from pathlib import Path


class Page(HTMLParser):
    """Links, sources, ids, text, and whether every tag is closed."""

    void = frozenset({"meta", "img", "br", "link", "hr", "input"})

    def __init__(self, path):
        super().__init__()
        self.links, self.sources, self.ids, self.text, self.open = [], [], [], [], []
        self.feed(Path(path).read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.links += [attrs["href"]] if "href" in attrs else []
        self.sources += [attrs["src"]] if "src" in attrs else []
        self.ids += [attrs["id"]] if "id" in attrs else []
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.text.append(data)

    def words(self):
        return " ".join(" ".join(self.text).split())
