from pathlib import Path
from typing import Literal


# changes: no
def count_text(path: Path, unit: Literal["words", "lines"] = "words") -> int:
    """Counts the words or lines of a text file. Example: {"path": "notes.txt"}

    Args:
        path: path of the file
        unit: what is counted
    """
    text = path.read_text()
    return len(text.split() if unit == "words" else text.splitlines())
