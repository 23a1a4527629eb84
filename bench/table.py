"""A table of what was measured, with goals and verdicts, as it grows and whole at the end."""
import json
import pathlib


class Table:
    """What was measured; rows without a goal are for the reader."""

    def __init__(self):
        self.rows = []

    def add(self, figure, measured, goal="", is_met=None, **values):
        self.rows.append(dict(figure=figure, goal=goal, measured=measured, is_met=is_met, **values))
        print(self.line(self.rows[-1]), flush=True)

    def add_ratio(self, figure, ours, theirs, most, text, **values):
        self.add(figure, f"{text}, {ours / theirs:.2f}x", f"<= {most:g}x" if most else "", ours <= theirs * most if most else None,
                 ours=ours, prometheus=theirs, **values)

    @staticmethod
    def line(row):
        verdict = {None: "", True: "ok", False: "MISSED"}[row["is_met"]]
        return f"{row['figure']:46} {row['goal']:>14}  {row['measured']:58} {verdict}"

    def finish(self, path):
        """Prints and writes all of it. Returns the status: 1 when a goal is missed."""
        print("\n" + "\n".join(map(self.line, self.rows)))
        pathlib.Path(path).write_text(json.dumps(self.rows, indent=1), encoding="utf-8")
        print(f"written to {path}")
        return int(any(row["is_met"] is False for row in self.rows))
