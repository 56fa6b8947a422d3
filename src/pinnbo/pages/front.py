"""The first page of the dashboard: what the model believes, before the pictures of a program that knows no physics."""

from __future__ import annotations

from html import escape

from pinnbo.pages import html, words
from pinnbo.pages.field_data import field_data
from pinnbo.plots.canvas import Names
from pinnbo.studies.campaign import Campaign
from pinnbo.studies.stopping import outlook


def front_page(campaign: Campaign, dashboard: str) -> str:
    """Words and map of a study as it stands, and the way to Optuna's pages at an address."""
    problem, optimizer = campaign.problem, campaign.optimizer()
    names = Names.of(optimizer, **problem.words)
    field = field_data(optimizer, names)
    held = campaign.record()
    counted = f"{problem.goal}: {len(held.of('measured', 'infeasible'))} of {problem.budget} evaluations"
    under_way = [f"trial {entry.number} at {words.point(names, entry.x)}" for entry in held.of("pending")]
    body = [
        f'<header><h1>{escape(problem.name)}</h1><p class="soft">{escape(counted)}</p></header>',
        "<main>",
        html.summary(words.summary(optimizer, names, outlook(optimizer))),
        f'<p class="row"><a class="button" href="{escape(dashboard)}">Optuna\'s dashboard</a>'
        '<span class="soft">History, trials and importances. Its contours are drawn between trials and know no '
        "equation; what pinnbo believes is here.</span></p>",
        *html.look_up(field),
        "<h2>Under way</h2>",
        f"<p>{escape('; '.join(under_way))}</p>" if under_way else "<p>Nothing is under way.</p>",
        '</main><footer><p class="soft">This page shows the study as it was when it was loaded.</p></footer>',
    ]
    return html.page(problem.name, "\n".join(body), ["map.js", "front.js"], data={"field": field})
