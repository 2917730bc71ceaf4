"""Both sides of a rule as one picture: an SVG in which data flows from top to bottom.

Graphs are given as lists of boxes and edges; the picture depends on nothing else, so its bytes are the
same everywhere. Boxes stand in rows by what they read, and in a row beside what they are joined to.
"""

import dataclasses
from html import escape

LETTER, LARGE, ROW, GAP, MARGIN, BETWEEN = 6.1, 7.4, 82, 18, 14, 84
FILLS = {"input": "#f4f4f0", "moves": "#fdf3d8", "computes": "#dde9f7", "output": "#f7dfe6"}


@dataclasses.dataclass
class Box:
    title: str
    detail: str = ""
    shape: str = ""
    kind: str = "computes"  # one of FILLS; "" for a point at which a long edge passes a row
    full: str = ""  # shown when one points at it
    row: int = 0
    x: float = 0.0  # of the middle

    def lines(self):
        return [text for text in (self.detail, self.shape) if text]

    def width(self):
        if not self.kind:
            return 6
        letters = [len(self.title) * LARGE] + [len(text) * LETTER for text in self.lines()]
        return max(letters + [26]) + 18

    def height(self):
        return 24 + 14 * len(self.lines())

    def top(self):
        return self.row * ROW + (52 - self.height()) / 2 if self.kind else self.row * ROW


@dataclasses.dataclass
class Edge:
    source: int
    target: int
    source_port: tuple = (0, 1)  # which of how many outputs
    target_port: tuple = (0, 1)
    through: tuple = ()  # points in the rows between


class Drawing:
    """Boxes of one side, those that are read before those that read them."""

    def __init__(self, boxes, edges):
        self.boxes, self.edges = boxes, edges
        self.place_in_rows()
        self.divide_long_edges()
        self.place_in_order()

    def place_in_rows(self):
        for edge in sorted(self.edges, key=lambda edge: edge.target):
            below = self.boxes[edge.source].row + 1
            self.boxes[edge.target].row = max(self.boxes[edge.target].row, below)
        last = max(box.row for box in self.boxes)
        for index, box in enumerate(self.boxes):
            if box.kind == "input":  # just above what reads it first
                readers = [self.boxes[edge.target].row for edge in self.edges if edge.source == index]
                box.row = min(readers) - 1
            if box.kind == "output":
                box.row = last

    def divide_long_edges(self):
        for edge in self.edges:
            rows = range(self.boxes[edge.source].row + 1, self.boxes[edge.target].row)
            edge.through = tuple(range(len(self.boxes), len(self.boxes) + len(rows)))
            self.boxes += [Box("", kind="", row=row) for row in rows]

    def joined(self):
        """Pairs of boxes in neighboring rows with what is joined in each, by the shift of its port."""
        for edge in self.edges:
            chain = (edge.source, *edge.through, edge.target)
            for above, below in zip(chain, chain[1:]):
                yield above, below, self.shift(edge.source_port, above), self.shift(edge.target_port, below)

    def shift(self, port, index):
        which, count = port
        box = self.boxes[index]
        return (which + 1) / (count + 1) * box.width() - box.width() / 2 if box.kind else 0.0

    def place_in_order(self):
        rows = [[] for _ in range(max(box.row for box in self.boxes) + 1)]
        for index in self.in_order_of_need():
            rows[self.boxes[index].row].append(index)
        for row in rows:
            position = 0.0
            for index in row:
                self.boxes[index].x = position + self.boxes[index].width() / 2
                position += self.boxes[index].width() + GAP
        pairs = list(self.joined())
        for sweep in range(12):
            for row in rows if sweep % 2 else rows[::-1]:
                self.align(row, pairs)
        left = min(box.x - box.width() / 2 for box in self.boxes)
        for box in self.boxes:
            box.x -= left
        self.width = max(box.x + box.width() / 2 for box in self.boxes)
        self.height = (len(rows) - 1) * ROW + 52

    def in_order_of_need(self):
        """From the outputs upwards, operands from left to right."""
        read = {}
        for edge in self.edges:
            chain = (edge.source, *edge.through, edge.target)
            for above, below in zip(chain, chain[1:]):
                read.setdefault(below, []).append(above)
        order = []
        stack = [index for index, box in enumerate(self.boxes) if box.kind == "output"][::-1]
        while stack:
            index = stack.pop()
            if index not in order:
                order.append(index)
                stack += read.get(index, [])[::-1]
        return order

    def align(self, row, pairs):
        wanted = []
        for index in row:
            near = [self.boxes[b].x + at_b - at_a for a, b, at_a, at_b in pairs if a == index]
            near += [self.boxes[a].x + at_a - at_b for a, b, at_a, at_b in pairs if b == index]
            wanted.append(sum(near) / len(near) if near else self.boxes[index].x)
        placed = []
        for index, x in zip(row, wanted):
            half = self.boxes[index].width() / 2
            if placed:
                before = self.boxes[row[len(placed) - 1]]
                x = max(x, placed[-1] + before.width() / 2 + GAP + half)
            placed.append(x)
        back = sum(x - wish for x, wish in zip(placed, wanted)) / len(row)
        for index, x in zip(row, placed):
            self.boxes[index].x = x - back

    def svg(self, x, y):
        parts = [self.line(edge, x, y) for edge in self.edges]
        parts += [shape_of(box, x, y) for box in self.boxes if box.kind]
        return parts

    def line(self, edge, x, y):
        source, target = self.boxes[edge.source], self.boxes[edge.target]
        points = [(source.x + self.shift(edge.source_port, edge.source), source.top() + source.height())]
        for index in edge.through:
            at = self.boxes[index]
            points += [(at.x, at.row * ROW), (at.x, at.row * ROW + 52)]
        points.append((target.x + self.shift(edge.target_port, edge.target), target.top() - 4))
        path = f"M{x + points[0][0]:.0f} {y + points[0][1]:.0f}"
        for number, ((a, b), (c, d)) in enumerate(zip(points, points[1:])):
            if number % 2:
                path += f" L{x + c:.0f} {y + d:.0f}"
            else:
                bend = (d - b) * 0.5
                path += f" C{x + a:.0f} {y + b + bend:.0f} {x + c:.0f} {y + d - bend:.0f} {x + c:.0f} {y + d:.0f}"
        return f'<path d="{path}" fill="none" stroke="#666" marker-end="url(#a)"/>'


def shape_of(box, x, y):
    left, top, middle = x + box.x - box.width() / 2, y + box.top(), x + box.x
    texts = [f'<text x="{middle:.0f}" y="{top + 17:.0f}" font-size="13" font-weight="bold">{escape(box.title)}</text>']
    for number, text in enumerate(box.lines()):
        color = ' fill="#555"' if text is box.shape else ""
        texts.append(f'<text x="{middle:.0f}" y="{top + 31 + 14 * number:.0f}"{color}>{escape(text)}</text>')
    return (f'<g><title>{escape(box.full)}</title><rect x="{left:.0f}" y="{top:.0f}" width="{box.width():.0f}" '
            f'height="{box.height()}" rx="6" fill="{FILLS[box.kind]}" stroke="#888"/>{"".join(texts)}</g>')


def picture(left, right, both_ways, title):
    """A stand-alone SVG with an arrow from the left drawing to the right one."""
    height = max(left.height, right.height) + 2 * MARGIN
    width = left.width + BETWEEN + right.width + 2 * MARGIN
    middle, start = height / 2, MARGIN + left.width + 20
    end = start + BETWEEN - 40
    tail = ' marker-start="url(#b)"' if both_ways else ""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-size="11" font-family="Helvetica, Arial, sans-serif" text-anchor="middle" '
        f'fill="#222" role="img">',
        f"<title>{escape(title)}</title>",
        '<defs><marker id="a" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 Z" fill="#666"/></marker>'
        '<marker id="b" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="4" markerHeight="4" '
        'orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 Z" fill="#446"/></marker></defs>',
        f'<rect x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="10" fill="#fff" stroke="#ddd"/>',
        f'<path d="M{start:.0f} {middle:.0f} H{end:.0f}" stroke="#446" stroke-width="3"{tail} marker-end="url(#b)"/>',
    ]
    parts += left.svg(MARGIN, (height - left.height) / 2)
    parts += right.svg(MARGIN + left.width + BETWEEN, (height - right.height) / 2)
    return "\n".join(parts) + "\n</svg>\n"
