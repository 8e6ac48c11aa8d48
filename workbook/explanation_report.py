"""An explanation on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from workbook.explanation import Explanation, Term, in_digits, with_unit
from workbook.tables import new_table, print_table


def print_explanation(found: Explanation) -> None:
    """What is known of the quantity, the tree of what it is computed from, and what moves it most."""
    console = Console()
    console.print(Text(found.heading, "bold"), soft_wrap=True)
    widest = max(map(len, found.facts))
    for name, value in found.facts.items():
        console.print(Text.assemble((name.ljust(widest), "dim"), f"  {in_digits(value)}"), soft_wrap=True)
    if found.term.terms:
        print()
        tree = Tree(_line(found.term))
        tree.children += map(_tree, found.term.terms)
        if console.is_terminal:
            console.print(tree)
        else:
            print_table(tree)
    if found.movers:
        print()
        table = new_table("Moves it most, at this point", "Input", "Quantity", "Value", "% for 1 %")
        table.columns[1].justify = "left"
        for each in found.movers:
            table.add_row(each.key, each.label, with_unit(each.value, each.unit), f"{each.elasticity:+.3f}")
        print_table(table)


def _line(term: Term) -> Text:
    line = Text.assemble((term.key, "bold"), f" = {term.said}  ", (term.label, "italic"))
    for remark in term.remarks:
        line.append(f"; {remark}", "red" if remark == term.warning else "dim")
    return line


def _tree(term: Term) -> Tree:
    line = _line(term)
    if term.terms and term.formula:
        line.append(f"\n= {term.formula}", "dim")
    tree = Tree(line)
    tree.children += map(_tree, term.terms)
    return tree
