"""Templates as people write them, with the results Go gives."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from minikube.output.gotemplate import TemplateError, render

DATA = {"Name": "minikube", "Count": 3, "On": True, "Off": False, "None": None, "List": ["a", "b"], "Map": {"k": {"x": 1}}, "Rate": 1.5}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("plain", "plain"),
        ("{{.Name}}", "minikube"),
        ("{{ .Name }}\\n", "minikube\\n"),
        ("{{.Name}}\n", "minikube\n"),
        ("{{.Map.k.x}}", "1"),
        ("{{.Map}}", "map[k:map[x:1]]"),
        ("{{.List}}", "[a b]"),
        ("{{.On}} {{.Rate}}", "true 1.5"),
        ("{{.None}} {{.Missing}}", "<no value> <no value>"),
        ("{{if .On}}yes{{else}}no{{end}}", "yes"),
        ("{{if .Off}}yes{{else if eq .Count 3}}three{{else}}no{{end}}", "three"),
        ("{{range .List}}<{{.}}>{{end}}", "<a><b>"),
        ("{{range .None}}x{{else}}none{{end}}", "none"),
        ("{{range $item := .List}}{{$item}}{{$.Count}}{{end}}", "a3b3"),
        ("{{with .Map.k}}{{.x}}{{end}}", "1"),
        ("a {{- .Name -}} b", "aminikubeb"),
        ("a{{/* nothing */}}b", "ab"),
        ('{{printf "%s=%d %v %q %5s|%-5s|%03d%%" .Name .Count .On .Name "x" "y" 7}}', 'minikube=3 true "minikube"     x|y    |007%'),
        ('{{printf "%d" .Name}}', "%!d(str=minikube)"),
        ('{{eq .Name "a" "minikube"}} {{ne .Count 3}} {{lt .Count 4}} {{ge .Count 4}}', "true false true false"),
        ("{{and .On .Name}} {{or .Off .Count}} {{not .Off}}", "minikube 3 true"),
        ("{{if and (eq .Count 3) (not .Off)}}both{{end}}", "both"),
        ("{{.Name | printf `%s!`}}", "minikube!"),
        ("{{len .List}} {{index .List 1}} {{index .Map `k`}}", "2 b map[x:1]"),
        ("{{$x := .Count}}{{$x}}", "3"),
        ('{{"a\\tb"}}{{`c`}}{{true}}{{42}}', "a\tbctrue42"),
        ('{{println .Name}}{{print .Count "x"}}', "minikube\n3x"),
    ],
)
def test_render(template: str, text: str) -> None:
    assert render(template, DATA) == text


@pytest.mark.parametrize(
    "template",
    [
        "{{",
        "{{.Name",
        "{{if .On}}",
        "{{end}}",
        "{{else}}",
        "{{nosuch .Name}}",
        "{{.Name.x.y}}",
        "{{.Name .Count}}",
        '{{"open}}',
        "{{(.Name}}",
        "{{.Name)}}",
        "{{lt .Name 3}}",
        "{{index .List 9}}",
        "{{$y}}",
        "{{range .Count}}{{end}}",
        "{{}}",
        "{{template `x`}}",
        "{{|}}",
        "{{" + "(" * 5000 + "}}",
        "{{1x}}",
    ],
)
def test_mistakes_are_template_errors(template: str) -> None:
    with pytest.raises(TemplateError):
        render(template, DATA)


def test_only_data_can_be_reached() -> None:
    node = SimpleNamespace(Host="Running")
    assert render("{{.Host}}", node) == "Running"
    for field in ("__class__", "_x", "Hosts", "__dict__"):
        with pytest.raises(TemplateError):
            render("{{." + field + "}}", node)
    with pytest.raises(TemplateError):
        render("{{.Host.upper}}", node)


def test_a_width_of_millions_is_not_honoured() -> None:
    assert len(render('{{printf "%999999999s" .Name}}', DATA)) < 100
    assert len(render('{{printf "%999999999d" .Count}}', DATA)) < 100
