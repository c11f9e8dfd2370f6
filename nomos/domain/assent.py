"""Reading a chat reply: is it assent, denial, a condition, or neither? No model, a closed grammar.

Until the grammar is deepened this is a closed list of whole messages. Errors must fall one way: what is not surely
assent is not assent.
"""

from __future__ import annotations

import re
from enum import StrEnum


class Reading(StrEnum):
    """How a reply is to be taken, when exactly one question is open and was the last thing asked."""

    ASSENT = "assent"
    DENIAL = "denial"
    CONDITIONAL = "conditional"
    NEITHER = "neither"


LONGEST = 60  # characters; what is longer says more than yes or no

_LEAD_INS = "yes|yep|yeah|ok|okay|sure|alright|all right|great|perfect|fine|thanks|thank you|please"
_CORES = (
    "go ahead|do it|please do|proceed|you may proceed|approved|i approve|approve|approve it|confirm|confirmed|"
    "go for it|make it so|run it|looks good,? go ahead"
)
_TAILS = "please|now|thanks|thank you|with it|with the plan|with the plan as shown"
_ASSENT = re.compile(rf"(?:(?:{_LEAD_INS})[ ,-]+){{0,2}}(?:{_CORES})(?:[ ,]+(?:{_TAILS})){{0,2}}")
_BARE_YES = re.compile(r"(?:yes|yep|yeah|y)(?:[ ,]+(?:yes|please)){0,2}")
_DENIAL = re.compile(
    r"(?:no|nope|no thanks|no thank you|no way|don't|do not|never|stop|cancel|cancel it|deny|denied|abort|wait|hold on|"
    r"not now|not yet|leave it|forget it|never mind|nevermind|"
    r"(?:no[ ,]+)?(?:please )?(?:don't|do not)(?: go ahead| do it| do that| proceed| run it)?)(?: please)?"
)
_CONDITION = re.compile(r"\b(?:but|only|except|unless|if|after|before|first|then|instead|until|without)\b|\d")


def read(reply: str) -> Reading:
    """Read one chat message of the operator. ``destroy`` is never approved by chat, whatever this returns."""
    text = re.sub(r"[ \t]+", " ", reply.strip().replace("\u2019", "'").casefold())
    text = text.rstrip(".!").rstrip()
    if not text or len(text) > LONGEST or re.search(r"[^\x20-\x7e]|[\"`>?]", text):
        return Reading.NEITHER
    if _DENIAL.fullmatch(text):
        return Reading.DENIAL
    if _ASSENT.fullmatch(text) or _BARE_YES.fullmatch(text):
        return Reading.ASSENT
    if _CONDITION.search(text) and re.match(rf"(?:{_LEAD_INS}|{_CORES})\b", text):
        return Reading.CONDITIONAL
    return Reading.NEITHER
