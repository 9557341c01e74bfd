"""A capability's specification as a person reads it."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from s2lct.builder.capabilities.schema import Capability, Form, Template
from s2lct.builder.stages.search import describe_rule

_LONGEST_LIST = 240


def specification(capability: Capability) -> RenderableType:
    """Expectation, search rules, templates and the choices made, form by form."""
    heading = Text.assemble((f"{capability.id} ", "bold"), capability.title)
    parts: list[RenderableType] = [Text(capability.expectation, style="italic")]
    for name, form in capability.forms.items():
        parts.append(Panel(_form(form), title=Text(f"form: {name}"), title_align="left"))
    return Panel(Group(*parts), title=heading, title_align="left")


def _form(form: Form) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for slot, rules in form.search.items():
        for number, rule in enumerate(rules):
            described = "\n".join(
                f"{field.replace('_', ' ')}: {_short(value)}"
                for field, value in describe_rule(rule).items()
            )
            grid.add_row(f"{'search' if number == 0 else 'or'} {slot}", Text(described))
    for template in form.templates:
        grid.add_row("template", Text(_template(template)))
    if form.keep_search_rule:
        grid.add_row("expansions", "must still meet the search rule")
    for choice in form.choices_made:
        grid.add_row("choice", Text.assemble(choice.rule, (f"\nbecause {choice.reason}", "dim")))
    return grid


def _template(template: Template) -> str:
    lines = [template.text]
    lines += [f"  {name}: {' | '.join(wordings)}" for name, wordings in template.choices.items()]
    lines += [
        f"  {slot}: {rewrite.find} → {' | '.join(rewrite.replace)}"
        for slot, rewrite in template.rewrite.items()
    ]
    passes = template.passes if isinstance(template.passes, str) else " or ".join(template.passes)
    return "\n".join([*lines, f"passes: {passes}"])


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_LIST else text[:_LONGEST_LIST].rsplit(",", 1)[0] + ", …"
