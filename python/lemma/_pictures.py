"""Pictures of graphs, as the program's pages have them."""

from __future__ import annotations

import base64
import html
import re
import sys
from dataclasses import dataclass, field

_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_PICTURE = re.compile(r"<h4>([^<]*)</h4>\s*(<svg .*?</svg>)", re.DOTALL)
# What a picture needs of the page's style: colors, and the looks of boxes and lines.
_OF_PICTURES = re.compile(r"^(?::root|@media \(prefers|  --|svg |\.(?:input|movement|taken))")
_PAPER = '<rect width="100%" height="100%" fill="var(--paper)"/>'


def is_notebook() -> bool:
    """Whether a kernel of IPython runs this, which shows values as HTML."""
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None


@dataclass(frozen=True)
class Picture:
    """A graph as a picture: data flows from top to bottom. A notebook shows it."""

    title: str
    """Such as "Before" or "Left side"."""
    svg: str = field(repr=False)
    """A document of its own, light or dark as the reader has it."""

    def _repr_svg_(self) -> str:
        return self.svg


def _document(svg: str, style: str) -> str:
    opened, _, rest = svg.partition(">")
    opened = opened.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return f"{opened}><style>{style}</style>{_PAPER}{rest}"


def pictures_in(page: str, begins: str, ends: str) -> tuple[Picture, ...]:
    """Those of the part of a page from the text `begins` to the next text `ends`."""
    _, found, part = page.partition(begins)
    styles = _STYLE.search(page)
    if not found or styles is None:
        return ()
    style = "\n".join(line for line in styles[1].splitlines() if _OF_PICTURES.match(line))
    return tuple(
        Picture(html.unescape(title), _document(svg, style)) for title, svg in _PICTURE.findall(part.partition(ends)[0])
    )


def pictures_html(pictures: tuple[Picture, ...]) -> str:
    """The pictures beside each other, as images: their style is theirs alone."""
    figures = "".join(
        f'<figure style="margin: 0"><figcaption>{html.escape(picture.title)}</figcaption>'
        f'<img alt="{html.escape(picture.title)}" src="data:image/svg+xml;base64,'
        f'{base64.b64encode(picture.svg.encode()).decode()}"/></figure>'
        for picture in pictures
    )
    return f'<div style="display: flex; flex-wrap: wrap; gap: 2em">{figures}</div>' if figures else ""
