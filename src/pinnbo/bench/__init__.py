"""The benchmark machine: cases, one runner that computes what is missing, one format of records, and a report.

``pinnbo bench run`` searches problems x methods x seeds (`pinnbo.bench.search`), ``pinnbo bench report`` writes a page
with pictures and tables (`pinnbo.bench.report`). The scripts under ``benchmarks/`` use the same runner and records.
Nothing here is imported by the rest of the package.
"""
