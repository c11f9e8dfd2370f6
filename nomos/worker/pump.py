"""The way of output from a host to the store: bytes in, whole characters on."""

from __future__ import annotations

import codecs

from nomos.actions.growth import Gatherer
from nomos.errors import ClaimLost
from nomos.store.executions import ExecutionClaim

TAIL = 2048  # bytes kept to look for a question in


class Pump:
    """Hands bytes of a job's output on, cut only between characters.

    ``read``: where to go on in the host's file. ``tail``: the end of what came. ``lost``: the claim is.
    """

    def __init__(self, gatherer: Gatherer, claim: ExecutionClaim, read: int) -> None:
        self._gatherer = gatherer
        self._claim = claim
        self._held = b""
        self._handed = read
        self.read = read
        self.tail = b""
        self.lost = False

    def take(self, piece: bytes) -> None:
        """Take the next bytes. The beginning of a character at their end waits for its rest."""
        self.read += len(piece)
        self.tail = (self.tail + piece)[-TAIL:]
        whole = self._held + piece
        cut = _character_border(whole)
        self._held = whole[cut:]
        self._hand_on(whole[:cut])

    def end(self) -> None:
        """No more will come: hand on what was held."""
        self._hand_on(self._held)
        self._held = b""

    def _hand_on(self, piece: bytes) -> None:
        if not piece or self.lost:
            return
        try:
            self._gatherer.output(self._claim, piece, self._handed)
        except ClaimLost:
            self.lost = True
        self._handed += len(piece)


def _character_border(raw: bytes) -> int:
    """How many bytes of ``raw`` can go without cutting a UTF-8 character in two."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(raw[-4:])
    return len(raw) - len(decoder.getstate()[0])
