"""The benchmark: problems x methods x seeds, one record per evaluation, and a report.

``pinnbo bench run`` computes and records (`pinnbo.bench.runner`), ``pinnbo bench report`` writes a page
with pictures and tables (`pinnbo.bench.report`). Nothing here is imported by the rest of the package.
"""
