"""git: where a path is named, or a setting, the table alone does not tell."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nomos.domain.executions import Risk
from nomos.risk.programs.base import Inside
from nomos.risk.verdict import Verdict, destroy
from nomos.risk.words import Word

_SAFE_SETTINGS = re.compile(
    r"(?i)(?:user|author|committer|color|branch|advice|column|tag|log|status|rerere|gc|feature|safe|"
    r"init\.defaultbranch|pull|push|fetch)(?:\..*)?|core\.(?:filemode|autocrlf|ignorecase|bare|quotepath|abbrev|eol|safecrlf)"
)


def git(words: Sequence[Word], inside: Inside) -> Verdict:
    """``checkout`` and its kin throw work away where they name files; settings can name programs to run."""
    verdict = inside.table(words)
    texts = [word.text for word in words[1:]]
    if verdict.risk is not Risk.CHANGE:
        return verdict
    if {"checkout", "restore", "reset"} & set(texts):
        reset = "reset" in texts
        named = [text for text in texts if not text.startswith("-")][1:]
        if "--" in texts or "restore" in texts or any(text in (".", "*") or text.startswith(":") for text in named):
            kept = reset and "--hard" not in texts
            return verdict if kept else destroy("git throws away work in files that it names")
        if "checkout" in texts and (len(named) > 1 and not {"-b", "-B", "--orphan"} & set(texts)):
            return destroy("git throws away work in files that it names")
    if {"push", "branch"} & set(texts) and (
        any(re.match(r"[:+]", text) for text in texts) or re.search(r"(?:^| )-[a-ce-z]*d", " ".join(texts))
    ):
        return destroy("git deletes or overwrites a branch")
    if "--exec" in texts or ("bisect" in texts and "run" in texts) or ("rebase" in texts and "-x" in texts):
        return destroy("git runs a command for each step")
    if "config" in texts:
        key = next(
            (text for text in texts[texts.index("config") + 1 :] if not text.startswith("-") and "." in text), ""
        )
        if not _SAFE_SETTINGS.fullmatch(key):
            return destroy("a setting of git can name a program to run")
    return verdict
