"""Reports: one page with tables, figures and examples, tables for papers, and figure files.

`report(["scores.json", "each.jsonl"]).write("report.html")` makes one from what the commands have printed.
"""

from capeval.report.build import Report, report
from capeval.report.grounding import draw_grounding, write_grounding
from capeval.report.inputs import CaptionScores

__all__ = ["CaptionScores", "Report", "draw_grounding", "report", "write_grounding"]
