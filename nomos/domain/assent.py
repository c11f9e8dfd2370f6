"""Reading a chat reply: assent, denial, a condition, or neither? No model, a closed grammar over the whole message.

``[lead-in ,]* core [tail]*``, every part from a closed list. Errors fall one way: what is not surely assent is not
assent. Only ``assent`` may open a window, and only where exactly one question is open and was the last thing asked.
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


def _any(words: str) -> str:
    """A pattern for any one of the phrases, which are parted by ``|`` and may be wrapped over lines."""
    return "(?:" + "|".join(re.escape(" ".join(word.split())) for word in words.split("|")) + ")"


_GAP = r"(?: ?[,.;!-]+ ?| )"

# Alone these are an answer to the question that was asked.
_YES = _any("yes|yep|yeah|yup|y|aye|yes sir|yes indeed")
# Alone these may be no more than politeness, or a comment on what was shown.
_LEAD_IN = _any(
    """ok|okay|k|sure|sure thing|alright|all right|right|great|perfect|fine|good|cool|nice|excellent|awesome|wonderful|
    thanks|thank you|thanks a lot|many thanks|please|absolutely|definitely|certainly|of course|by all means|no problem|
    no objections|no objection|sounds good|looks good|looks good to me|looks fine|lgtm|that is fine|that's fine|
    fine by me|fine with me|good plan|makes sense|great plan|very well|very good|that works|works for me"""
)
_THE_PLAN = _any(
    """it|this|that|them|the plan|this plan|that plan|your plan|the whole plan|the plan as shown|all of it|all steps|
    all the steps|the proposed plan|these steps|those steps|the steps"""
)
_PROCEED = _any("go ahead|proceed|go for it")
_ACT = _any("do|run|execute|apply|approve|confirm|start|perform|carry out")
_CORE = (
    rf"(?:(?:you (?:may|can|should)(?: now)? |let's |let us |just |i say |i'd say |feel free to )?"
    rf"(?:{_PROCEED}(?: with {_THE_PLAN})?(?: and (?:{_ACT} {_THE_PLAN}|do so|proceed))?|{_ACT} {_THE_PLAN}|do so)"
    rf"|please do|make it so|ship it|let's go|let's do this"
    rf"|(?:it is |it's |that is |that's |this is |the plan is |consider it )?"
    rf"(?:approved|confirmed|granted|authorized|authorised)"
    rf"|approve|confirm|permission granted|approval granted|request approved|plan approved"
    rf"|i (?:hereby )?(?:approve|confirm|allow|authorize|authorise)(?: of)?(?: {_THE_PLAN})?"
    rf"|you have my (?:approval|permission|consent|assent|go-ahead|go ahead|okay|ok)"
    rf"|i give (?:you )?my (?:approval|permission|consent|assent|go-ahead|go ahead|okay|ok))"
)
_TAIL = _any(
    """please|now|right now|right away|immediately|thanks|thank you|with it|with this|with that|with the plan|
    with this plan|as shown|as planned|as proposed|as described|as is|by all means"""
)
_ASSENT = re.compile(rf"(?:(?:{_YES}|{_LEAD_IN}){_GAP}){{0,4}}{_CORE}(?:{_GAP}{_TAIL}){{0,3}}")
_BARE_YES = re.compile(
    rf"(?:{_LEAD_IN}{_GAP}){{0,2}}{_YES}"
    rf"(?:{_GAP}(?:{_YES}|please|thanks|thank you|sure|absolutely|definitely|ok|okay|of course)){{0,3}}"
)

_NOT = _any(
    """don't|dont|do not|never|can't|cannot|can not|won't|will not|you may not|you can't|you cannot|you must not|
    must not|mustn't|you should not|shouldn't|let's not|i don't|i do not|i can't|i cannot|i won't|i will not|
    i would not|i wouldn't|i'd rather not|i would rather not|better not|rather not|not"""
)
_NO = (
    r"(?:"
    + _any(
        """no|nope|nah|n|no thanks|no thank you|no way|no sir|never|never ever|absolutely not|certainly not|
        definitely not|of course not|not at all|not now|not yet|not today|not like this|not this|not that|
        no chance|not a chance|no go|no-go|negative|veto|nein|do not|don't|dont|please don't|i'd rather not|
        i would rather not|rather not|better not|let's not|let us not|i think not|i said no|that's a no|
        that is a no|it's a no|it is a no|it is a no go|it's a no go|that's a no go|that is a no go|
        this is a no go|it is a no-go|it's a no-go|not approved|disapproved|disapprove|i disapprove|denied|
        deny|i deny|declined|decline|i decline|reject|rejected|i reject|refuse|refused|i refuse|
        permission denied|not granted|not allowed|not authorized|i object|i disagree|i don't want this|
        i don't want that|i don't want it|i do not want this|i do not want that|i do not want it|
        don't bother|leave it|leave it alone|leave it be|leave that alone|leave it as it is|
        leave everything as it is|forget it|forget that|forget about it|never mind|nevermind|skip it|
        skip that|drop it|drop that|scrap it|scrap that|hold|hold on|hold off|hold it|wait|wait a moment|
        wait a minute|not so fast|hang on|pause|changed my mind|i changed my mind|i've changed my mind|
        on second thought|on second thoughts"""
    )
    + rf"|(?:stop|cancel|abort|halt|quit|end|kill|reject|deny|decline|refuse)"
    rf"(?: {_THE_PLAN}| everything| now| the request| all| right now| right there)?"
    rf"|(?:please )?{_NOT} (?:{_CORE}|{_PROCEED}|{_ACT}|say (?:go ahead|yes)|agree|allow|accept|continue|touch)"
    rf"(?: to| with| of)?(?: {_THE_PLAN}| anything| yet| ever)?(?: without (?:asking me|asking|my approval))?"
    r")"
)
_BEFORE_NO = (
    rf"(?:(?:{_YES}|{_LEAD_IN}|{_CORE}|hm+|um+|er+|oh|ah|well|sorry|actually|wait|so|and|then)"
    rf"{_GAP}|go ahead and ){{0,4}}"
)
_AFTER_NO = _any(
    """please|now|thanks|thank you|sorry|yet|ever|for now|today|at all|actually|instead|right now|immediately|
    don't|really|this time|with that|with this|with it|to this|to that|to it"""
)
_DENIAL = re.compile(rf"{_BEFORE_NO}{_NO}(?:{_GAP}(?:{_NO}|{_AFTER_NO})){{0,4}}")
# Said both ways, or asked of Nomos: "yes no", "don't stop", "please confirm".
_UNCLEAR = re.compile(
    rf"{_YES}{_GAP}(?:no|n|nope)|.*\b(?:don't|dont|do not|never|not|no need to) "
    r"(?:stop|cancel|abort|halt|quit|wait|hold|pause|reject|deny|refuse|skip|forget|drop|leave|kill|end)\b.*"
    r"|.*\bplease,? (?:confirm|approve)\b.*"
)

_CONDITION = re.compile(
    r"""(?x)\b(?:but|only|except|excluding|unless|if|after|before|first|second|last|then|instead|until|without|provided|
    providing|once|when|while|as\ long\ as|also|later|tomorrow|tonight|apart|other\ than|all\ future|always|
    from\ now\ on|everything|half|part|some|and|for|in|on|with|skip|not)\b|\d"""
)
_OPENING = re.compile(
    rf"(?:{_YES}|{_LEAD_IN}|{_CORE}|only|maybe|just|approve all|do|run|skip|start with|let's)(?![a-z])"
)
_TALK = re.compile(
    r"\b(?:explain|tell|say|says|said|told|describe|listening|know|saw|see|think|told|trust|message|chat|why|how)\b"
)


def read(reply: str) -> Reading:
    """Read one chat message of the operator. ``destroy`` is never approved by chat, whatever this returns."""
    text = re.sub(r"[ \t]+", " ", reply.strip().replace("\u2019", "'").casefold())
    text = re.sub(r"[\u2013\u2014]", "-", text).rstrip(".!").rstrip()
    if not text or len(text) > LONGEST or re.search(r"[^\x20-\x7e]|[\"`>?:/\\\[\]{}()<=|*_#&;$@~^]", text):
        return Reading.NEITHER
    if _UNCLEAR.fullmatch(text):
        return Reading.NEITHER
    if _DENIAL.fullmatch(text):
        return Reading.DENIAL
    if _ASSENT.fullmatch(text) or _BARE_YES.fullmatch(text):
        return Reading.ASSENT
    if _OPENING.match(text) and _CONDITION.search(text) and not _TALK.search(text):
        return Reading.CONDITIONAL
    return Reading.NEITHER
