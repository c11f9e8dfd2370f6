"""The walk over the tree: from nodes to simple commands, or a refusal.

A kind of node that is not listed here makes the text unreadable. Besides ``parse``, the only module that knows the
grammar's nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from nomos.risk.script import Binding, Redirect, Script, Simple, Span
from nomos.risk.words import Kind, Piece, Unreadable, pieces

DEEPEST = 60

# Kinds whose children are walked and which add nothing themselves.
_PLAIN = frozenset(
    """program list pipeline subshell compound_statement do_group while_statement if_statement elif_clause else_clause
    negated_command""".split()
)
# Their own words: nothing else may stand between the children.
_TOKENS = frozenset("; && || | |& & \n ( ) { } do done while until if then elif else fi ! in for case esac".split(" "))
_WORDS = frozenset(
    """word number string raw_string ansi_c_string concatenation simple_expansion expansion command_substitution
    process_substitution arithmetic_expansion brace_expression extglob_pattern regex variable_name
    test_operator""".split()
)
_SUBSTITUTIONS = {
    "command_substitution": Kind.UNKNOWN,
    "process_substitution": Kind.TEXT,
    "arithmetic_expansion": Kind.NUMBER,
}
_INNER = frozenset(
    """word number string string_content raw_string ansi_c_string concatenation simple_expansion
    special_variable_name brace_expression""".split()
)
# Inside ``$(( ))`` a variable's value would be evaluated as arithmetic, which can run commands.
_ARITHMETIC = re.compile(rb"\$\(\([0-9\s+*/%()<>=-]*\)\)")
_COUNTS = re.compile(rb"\$\(\s*(?:nproc|date \+%s|id -u)\s*\)")
_TESTS = {
    "[": frozenset("[ ] ! = !=".split()),
    "[[": frozenset("[[ ]] ! = != && || == =~ ( )".split()),
}
_EVALUATES = frozenset("-v -R -eq -ne -lt -le -gt -ge".split())


class Walker:
    """Walks a tree once, over a closed list of node kinds; what it finds goes into the script."""

    def __init__(self, source: bytes, script: Script) -> None:
        self.source, self.script = source, script

    def text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "surrogatepass")

    def walk(self, node: Node, depth: int, *, certain: bool = False) -> None:
        """Walk a node that stands where a command may stand."""
        if depth > DEEPEST:
            raise Unreadable("it is nested too deeply: use plainer commands")
        kind = node.type
        if node.is_missing or node.is_error:
            raise Unreadable("it cannot be parsed: write plain commands")
        if kind == "comment":
            return
        if not node.is_named:
            if kind not in _TOKENS:
                raise Unreadable(f"“{kind}” cannot be read surely here: write plain commands")
            return
        if kind in _PLAIN:
            for child in node.children:
                self.walk(child, depth + 1, certain=certain and kind == "program")
            return
        handler = getattr(self, f"_on_{kind}", None)
        if handler is None:
            raise Unreadable(f"it uses {kind.replace('_', ' ')}, which cannot be read surely: write plain commands")
        handler(node, depth, certain)

    # ------------------------------------------------------------------------------------------------ commands

    def _on_command(self, node: Node, depth: int, _certain: bool) -> Simple:
        simple = Simple(begins=node.start_byte)
        spans: list[Span] = []
        named = False
        for child in node.children:
            if child.type == "variable_assignment" and not named:
                self._assignment(child, depth, simple)
                spans.append(_span(child))
            elif child.type in ("file_redirect", "herestring_redirect"):
                if not named:
                    raise Unreadable("a redirection stands before the command: put it at the end")
                self._redirect(child, depth, simple, spans)
            elif child.type == "command_name":
                named = True
                self._word(child.children[0], depth, simple, spans)
            elif child.type in _WORDS:
                self._word(child, depth, simple, spans)
            else:
                raise Unreadable(f"“{self.text(child)[:20]}” cannot be read surely there: write plain commands")
        if not named:
            raise Unreadable("a command without a name: write plain commands")
        self._keep("command", simple, spans)
        return simple

    def _on_redirected_statement(self, node: Node, depth: int, _certain: bool) -> None:
        body = node.child_by_field_name("body")
        if body is None:
            bare = Simple(begins=node.start_byte)
            for child in node.children:
                if child.type != "file_redirect" or self._redirect(child, depth, bare, None):
                    raise Unreadable("a redirection without a command: write plain commands")
            self._keep("command", bare, [])
            return
        self.walk(body, depth + 1)
        if not self.script.commands:
            raise Unreadable("a redirection without a command: write plain commands")
        if body.type == "command":
            simple, (_, spans) = self.script.commands.pop(), self.script.shape.pop()
            self._keep("command", simple, self._redirects(node, depth, simple, list(spans)))
            return
        simple = Simple(words=[_TRUE], begins=node.start_byte)
        if self._redirects(node, depth, simple, []):
            raise Unreadable("words stand after a redirection: put the redirection at the end")
        self.script.commands.append(simple)

    def _redirects(self, node: Node, depth: int, simple: Simple, spans: list[Span]) -> list[Span]:
        """Add a statement's redirections to its command; the spans with those of words that stand behind them."""
        for child in node.children:
            if child == node.child_by_field_name("body"):
                continue
            if child.type in ("file_redirect", "herestring_redirect"):
                self._redirect(child, depth, simple, spans)
            elif child.type == "heredoc_redirect":
                self._here_document(child, depth, simple, spans)
            else:
                raise Unreadable(f"“{self.text(child)[:20]}” cannot be read surely there: write plain commands")
        return spans

    def _on_variable_assignment(self, node: Node, depth: int, certain: bool) -> None:
        simple = Simple(begins=node.start_byte)
        self._assignment(node, depth, simple)
        self._keep("command", simple, [_span(node)])
        (name, value) = simple.assigns[0]
        self.script.bindings.append(Binding(name, (value,), certain))

    def _on_variable_assignments(self, node: Node, depth: int, certain: bool) -> None:
        simple = Simple(begins=node.start_byte)
        for child in node.children:
            self._assignment(child, depth, simple)
        self._keep("command", simple, [_span(child) for child in node.children])
        self.script.bindings += [Binding(name, (value,), certain) for name, value in simple.assigns]

    def _on_declaration_command(self, node: Node, depth: int, certain: bool) -> None:
        simple = Simple(begins=node.start_byte)
        spans: list[Span] = []
        for child in node.children:
            if child.type == "variable_assignment":
                self._assignment(child, depth, simple)
                spans.append(_span(child))
            elif not child.is_named or child.type in ("word", "variable_name"):
                simple.words.append((Piece(Kind.TEXT, self.text(child), False),))
                spans.append(_span(child))
            else:
                raise Unreadable("a declaration that cannot be read surely: use plain NAME=value")
        self.script.bindings += [Binding(name, (value,), certain) for name, value in simple.assigns]
        self._keep("command", simple, spans)

    _on_unset_command = _on_declaration_command

    def _on_test_command(self, node: Node, depth: int, _certain: bool) -> None:
        opening = node.children[0].type
        simple = Simple(begins=node.start_byte)
        spans: list[Span] = []
        if opening not in _TESTS:
            raise Unreadable("arithmetic in (( )) can run commands: use [ … -gt … ]")
        operators = _TESTS[opening]
        for leaf in self._test_leaves(node):
            if leaf.type in _WORDS:
                self._word(leaf, depth, simple, spans if opening == "[" or leaf.type != "test_operator" else [])
                continue
            if leaf.type not in operators:
                raise Unreadable(f"“{leaf.type}” inside {opening} cannot be read surely: use plain tests")
            simple.words.append((Piece(Kind.TEXT, leaf.type, False),))
            spans += [_span(leaf)] if opening == "[" else []
        if opening == "[[" and _EVALUATES & {part[0].text for part in simple.words if len(part) == 1}:
            raise Unreadable("[[ ]] with numbers or -v evaluates its words: use [ … ] instead")
        self._keep("command" if opening == "[" else "test", simple, spans)

    def _test_leaves(self, node: Node) -> Iterator[Node]:
        for child in node.children:
            if child.type in (
                "unary_expression",
                "binary_expression",
                "negation_expression",
                "parenthesized_expression",
            ):
                yield from self._test_leaves(child)
            else:
                yield child

    # ------------------------------------------------------------------------------------------------ loops

    def _on_for_statement(self, node: Node, depth: int, _certain: bool) -> None:
        names = [child for child in node.children if child.type == "variable_name"]
        simple, spans = Simple(begins=node.start_byte), list[Span]()
        for child in node.children:
            if child.type == "for" or child == names[0]:
                continue
            if child.type in _WORDS:
                self._word(child, depth, simple, spans)
            else:
                self.walk(child, depth + 1)
        if not simple.words or node.children[0].type != "for":
            raise Unreadable("a loop without words: write them out")
        self.script.shape.append(("for", tuple(spans)))
        self.script.bindings.append(Binding(self.text(names[0]), tuple(simple.words), certain=True))

    def _on_case_statement(self, node: Node, depth: int, _certain: bool) -> None:
        simple, spans = Simple(), list[Span]()
        for child in node.children:
            if child.type in _WORDS:
                self._word(child, depth, simple, spans)
            elif child.type == "case_item":
                for part in child.children:
                    if part.type in _WORDS:
                        self._word(part, depth, simple, spans)
                    elif part.type != ";;":
                        self.walk(part, depth + 1)
            else:
                self.walk(child, depth + 1)
        self.script.shape.append(("case", tuple(spans)))

    # ------------------------------------------------------------------------------------------------ parts

    def _keep(self, kind: str, simple: Simple, spans: list[Span]) -> None:
        self.script.commands.append(simple)
        self.script.shape.append((kind, tuple(spans)))

    def _assignment(self, node: Node, depth: int, simple: Simple) -> None:
        children = node.children
        if children[0].type != "variable_name" or children[1].type != "=" or len(children) > 3:
            raise Unreadable("an assignment that is not NAME=value: write plain commands")
        value: tuple[Piece, ...] = ()
        if len(children) == 3:
            value = self._pieces(children[2], depth)
        simple.assigns.append((self.text(children[0]), value))

    def _redirect(self, node: Node, depth: int, simple: Simple, spans: list[Span] | None) -> bool:
        """Add the redirection; words after its target are the command's own. True if there were such words."""
        operator, targets = "", []
        for child in node.children:
            if child.type == "file_descriptor":
                continue
            if child.is_named:
                if child.type not in _WORDS:
                    raise Unreadable("a redirection that cannot be read surely: put it at the end")
                targets.append(child)
            elif operator:
                raise Unreadable("a redirection that cannot be read surely: put it at the end")
            else:
                operator = child.type
        if not targets and operator not in (">&-", "<&-"):
            raise Unreadable("a redirection without a target: write plain commands")
        target = self._pieces(targets[0], depth) if targets else ()
        simple.redirects.append(Redirect(operator, target))
        self.script.shape.append(("redirect", (_span(targets[0]),) if targets else ()))
        for extra in targets[1:]:
            self._word(extra, depth, simple, spans if spans is not None else [])
        return len(targets) > 1

    def _here_document(self, node: Node, depth: int, simple: Simple, spans: list[Span]) -> None:
        """Add a here-document; what stands behind its mark on the same line hangs on it in this grammar."""
        simple.redirects.append(Redirect("<<", ()))
        for child in node.children:
            if child.type == "heredoc_start":
                self.script.shape.append(("redirect", (_span(child),)))
            elif child.type == "heredoc_body" and child.named_child_count:
                raise Unreadable("its here-document is expanded by the shell: quote the closing word, <<'EOF'")
            elif child.type == "file_redirect":
                self._redirect(child, depth, simple, spans)
            elif child.type not in ("<<", "heredoc_body", "heredoc_end"):
                self.walk(child, depth + 1)

    def _word(self, node: Node, depth: int, simple: Simple, spans: list[Span]) -> None:
        simple.words.append(self._pieces(node, depth))
        spans.append(_span(node))

    def _pieces(self, node: Node, depth: int) -> tuple[Piece, ...]:
        found: dict[int, tuple[int, Kind]] = {}
        self._substitutions(node, depth, found)
        return pieces(self.source, node.start_byte, node.end_byte, found)

    def _substitutions(self, node: Node, depth: int, found: dict[int, tuple[int, Kind]]) -> None:
        """Walk into the substitutions of a word, and note where they stand."""
        if depth > DEEPEST:
            raise Unreadable("it is nested too deeply: use plainer commands")
        if node.type in _SUBSTITUTIONS:
            found[node.start_byte] = (node.end_byte, _SUBSTITUTIONS[node.type])
            if node.type == "arithmetic_expansion":
                raw = self.source[node.start_byte : node.end_byte]
                if not _ARITHMETIC.fullmatch(_COUNTS.sub(b"1", raw)):
                    raise Unreadable("$(( )) with names evaluates them: use plain numbers")
                for child in _below(node, "command_substitution"):
                    self._inside(child, depth)
            else:
                self._inside(node, depth)
            return
        if node.type == "expansion":
            if any(child.type in _SUBSTITUTIONS or child.type == "subscript" for child in node.children):
                raise Unreadable("${ } with more than a plain name cannot be read surely: use the value itself")
            return
        if node.is_named and node.type not in _INNER and node.type not in _WORDS:
            raise Unreadable(f"it uses {node.type.replace('_', ' ')}, which cannot be read surely: write plain words")
        for child in node.children:
            self._substitutions(child, depth + 1, found)

    def _inside(self, node: Node, depth: int) -> None:
        opening, *inner, closing = node.children
        if opening.type not in ("$(", "<(", ">(") or closing.type != ")":
            raise Unreadable("a substitution that cannot be read surely: use $( )")
        if not any(child.is_named and child.type != "comment" for child in inner):
            raise Unreadable("an empty substitution: leave it out")
        for child in inner:
            self.walk(child, depth + 1)


_TRUE = (Piece(Kind.TEXT, ":", False),)


def _span(node: Node) -> Span:
    return node.start_byte, node.end_byte


def _below(node: Node, kind: str) -> Iterator[Node]:
    for child in node.children:
        if child.type == kind:
            yield child
        else:
            yield from _below(child, kind)
