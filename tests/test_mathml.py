"""Equations as MathML: well formed, escaped, and saying what the text says."""

import xml.etree.ElementTree as ET

import pytest

from pinnbo import PDE, Space, equations

BOX = Space(x=(0.0, 1.0), y=(0.0, 1.0))


def read(pde):
    return ET.fromstring(pde.equation.mathml())


def said(element):
    """What is written, from left to right, with the parts of fractions and powers in brackets."""
    parts = [said(child) for child in element]
    if element.tag in ("mfrac", "msup", "msub"):
        sign = {"mfrac": "/", "msup": "^", "msub": "_"}[element.tag]
        return f"[{parts[0]}]{sign}[{parts[1]}]"
    return (element.text or "").strip() + "".join(parts)


@pytest.mark.parametrize("name", equations.available())
def test_every_equation_of_the_catalogue_is_well_formed(name):
    found = equations.get(name).pde()
    for pde in found if isinstance(found, list) else [found]:
        math = read(pde)
        assert math.tag == "math"
        assert math.get("alttext") == "; ".join(str(pde).splitlines())
        assert len(math.findall(".//mtr")) >= 1 + len(pde.equation.definitions)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("laplacian(T) = 0", "[∇]^[2]T=0"),
        ("d2(T, x) - 2*(T + 1)*y = 0", "[[∂]^[2]T]/[∂[x]^[2]]−2\u2062(T+1)\u2062y=0"),
        ("d(T, x)/(1 + y) = -3*T**2", "[[∂T]/[∂x]]/[1+y]=−3\u2062[T]^[2]"),
        ("laplacian(T) = 1e-7*2*exp(x)", "[∇]^[2]T=1⋅[10]^[−7]⋅2\u2062exp\u2061(x)"),
        ("d(T, x) = 0 on y = 0", "[∂T]/[∂x]=0on\u00a0y=0"),
        ("k_1*laplacian(T) = 0", "[k]_[1]\u2062[∇]^[2]T=0"),
    ],
)
def test_it_says_what_the_text_says(text, expected):
    pde = PDE.parse(text, BOX, fields=["T"])
    assert said(read(pde)).replace("\u00a0", "") == expected.replace("\u00a0", "")


def test_definitions_stand_above():
    pde = PDE.parse("EI(x) = exp(x)\nd2(EI(x)*d2(w, x), x) = 1", BOX)
    first, last = read(pde).findall("./mtable/mtr")
    assert said(first).startswith("EI(x)=")
    assert said(last).endswith("=1")


def test_where_has_two_lines():
    text = read(PDE.parse("laplacian(T) = where(x < 0.5, 1, 0)", BOX))
    assert "otherwise" in "".join(text.itertext())
    assert len(text.findall(".//mtable//mtable/mtr")) == 2
