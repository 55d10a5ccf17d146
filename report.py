"""Fills README.md's tables and draws results/figures and results/REPORT.md from the files in results/: python report.py

reporting/reading.py says which files; a figure whose file is missing is left out, with a message.
"""

from pathlib import Path

from reporting.page import write_report
from reporting.reading import read_data
from reporting.tables import fill_readme

ROOT = Path(__file__).parent


def main() -> None:
    data = read_data(ROOT / "results")
    readme = ROOT / "README.md"
    readme.write_text(fill_readme(readme.read_text(), data))
    for message in write_report(data):
        print(message)
    print("written: the tables of README.md, results/REPORT.md and results/figures")


if __name__ == "__main__":
    main()
