"""Queries to databases: only statements that surely read are read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nomos.risk.programs.base import Inside
from nomos.risk.verdict import READS, Verdict, change, destroy, sensitive, strictest
from nomos.risk.words import Word

_FUNCTIONS = frozenset(
    """
    count sum min max avg round abs coalesce length lower upper version now current_setting current_database
    current_user pg_size_pretty pg_database_size pg_total_relation_size pg_relation_size pg_table_size
    pg_is_in_recovery pg_postmaster_start_time datetime date time strftime julianday substr trim replace ifnull
    nullif cast concat database user sqlite_version typeof in values and or not exists as from where on using
    over distinct any all between like select with table_name to_char date_trunc extract age format left right
    power floor ceil
    """.split()
)
_DESTROYS = re.compile(
    r"(?i)\b(?:drop|truncate|delete|merge|do|call|execute|copy|load|attach|detach|import|reindex|replace)\b"
)
_WRITES = re.compile(
    r"(?i)\b(?:insert|update|create|alter|grant|revoke|into|set|vacuum|analyze|lock|begin|commit|rollback|comment|refresh|cluster|"
    r"checkpoint|notify|listen|reset|flush|kill|optimize|repair|rename|start|stop|purge|for)\b"
)
_READS = re.compile(r"(?is)(?:explain\s+(?!analy)|)(?:select|show|values|table|with|describe|desc)\b.*")
_PRAGMAS = re.compile(
    r"(?i)pragma\s+(?:\w+\.)?(?:integrity_check|quick_check|table_info\(\w+\)|database_list|page_count|user_version)"
)
_PSQL_META = re.compile(r"\\(?:d[A-Za-z+]*|l\+?|conninfo|encoding|du\+?|dt\+?)(?:\s+[\w.*]+)?")


def statement(text: str) -> Verdict:
    """One text of SQL, of any dialect: reads only if every statement reads and calls no unknown function."""
    if _PSQL_META.fullmatch(text.strip()):
        return READS
    if text.lstrip().startswith((".", "\\")) or "\\" in text:
        return destroy("a command of the database's own shell may run programs: use plain SQL")
    bare = re.sub(r"'(?:[^']|'')*'", "''", text)
    if re.search(r"--|/\*|\$\w*\$|[\"`#]", re.sub(r'"\w+"', "x", bare)) or bare.count("'") % 2:
        return destroy("its SQL cannot be read surely: no comments, plain quotes")
    return strictest(_single(part.strip()) for part in bare.split(";") if part.strip())


def _single(part: str) -> Verdict:
    if _PRAGMAS.fullmatch(part):
        return READS
    functions = [name for name in re.findall(r"([A-Za-z_]\w*)\s*\(", part) if name.casefold() not in _FUNCTIONS]
    if not _READS.fullmatch(part):
        if _DESTROYS.search(part):
            return destroy("its SQL deletes, or runs what the text does not show")
        if re.match(
            r"(?i)(?:update|insert|create|alter|grant|revoke|set|vacuum|analyze|comment|refresh|flush|kill)\b", part
        ):
            return change("its SQL changes data")
        return destroy("its SQL is of a kind that Nomos does not know")
    if re.search(r"(?i)\b(?:drop|truncate|delete|merge)\b", part):
        return destroy("its SQL deletes")
    harmless = {
        "pg_terminate_backend",
        "pg_cancel_backend",
        "pg_reload_conf",
        "nextval",
        "setval",
        "pg_switch_wal",
        "sleep",
    }
    if any(name.casefold() not in harmless for name in functions):
        return destroy(f"its SQL calls {functions[0]}(), whose effects Nomos does not know")
    if functions or _WRITES.search(part):
        return change("its SQL changes something")
    return READS


def _sql(
    words: Sequence[Word], *, texts: str, valued: str, flags: str, last: bool, bare: Verdict
) -> tuple[list[Verdict], list[str]]:
    """Read options; ``texts`` are those whose value is SQL. Gives the verdicts and the flags seen."""
    verdicts: list[Verdict] = []
    rest, seen, operands = list(words[1:]), list[str](), list[Word]()
    while rest:
        word = rest.pop(0)
        name, equals, value = word.text.partition("=")
        if not word.known:
            return [destroy("a word of it is only known when it runs: write it out")], seen
        if not word.text.startswith("-"):
            operands.append(word)
            continue
        if not word.text.startswith("--") and name not in texts.split() and name not in valued.split():
            name, equals, value = word.text[:2], word.text[2:], word.text[2:]
        seen.append(name)
        if name in texts.split():
            taken = Word(value) if equals else (rest.pop(0) if rest else Word("", known=False))
            verdicts.append(statement(taken.text) if taken.known else destroy("its SQL is only known when it runs"))
        elif name in valued.split():
            if not equals and rest:
                rest.pop(0)
        elif word.text in flags.split() or all(f"-{letter}" in flags.split() for letter in word.text[1:]):
            seen += [f"-{letter}" for letter in word.text[1:]]
        else:
            return [destroy(f"Nomos does not know its option {word.text}: it may run a file")], seen
    if last:
        verdicts += [statement(word.text) for word in operands[1:]]
    return verdicts or [bare], seen


def sqlite(words: Sequence[Word], _inside: Inside) -> Verdict:
    """Reads only with -readonly: else it recovers the write-ahead log, and creates a missing file."""
    texts = [word.text for word in words[1:]]
    flags = """-readonly -header -csv -json -column -line -list -table -box -markdown -batch -bail -noheader -version
        --version""".split()
    operands: list[Word] = []
    for word in words[1:]:
        if not word.known or (word.text.startswith("-") and word.text not in flags):
            return destroy("a word of sqlite3 is not known, or may run commands")
        if not word.text.startswith("-"):
            operands.append(word)
    if any(text in ("-version", "--version") for text in texts):
        return READS
    if len(operands) < 2:
        return destroy("sqlite3 would read its commands from its input")
    verdicts = [_dotted(word.text) for word in operands[1:]]
    if "-readonly" not in texts:
        verdicts.append(change("sqlite3 may write to the file even to read it: use -readonly"))
    return strictest(verdicts)


def _dotted(text: str) -> Verdict:
    if re.fullmatch(r"\.(?:tables|schema|databases|indexes|dbinfo)(?:\s+\w+)?", text.strip()):
        return READS
    if re.match(r"\.(?:output|once|backup|save|dump|clone)\b", text.strip()) and "|" not in text:
        return change("sqlite3 writes a file")
    return statement(text)


def psql(words: Sequence[Word], _inside: Inside) -> Verdict:
    """Lists and reading statements."""
    verdicts, seen = _sql(
        words, texts="-c --command", valued="-U --username -h --host -p --port -d --dbname -F -P --pset -R",
        flags="-l --list -t -A -q -X -w -x --no-psqlrc --tuples-only --no-align --quiet --csv --version -V -W -H -e -E",
        last=False, bare=change("an interactive session"),
    )  # fmt: skip
    if verdicts == [change("an interactive session")]:
        listing = {"-l", "--list", "--version", "-V"} & set(seen)
        return READS if listing else destroy("psql would read its commands from its input")
    return strictest(verdicts)


def mysql(words: Sequence[Word], _inside: Inside) -> Verdict:
    """Reading statements."""
    verdicts, _ = _sql(
        words, texts="-e --execute", valued="-u --user -h --host -P --port -D --database -p --password -S --socket",
        flags="-B -N -s -t -E --batch --skip-column-names --table --version -V", last=False, bare=READS,
    )  # fmt: skip
    texts = {word.text for word in words}
    if verdicts == [READS] and not any(text.startswith(("-e", "--execute", "--version", "-V")) for text in texts):
        return destroy("mysql would read its commands from its input")
    return strictest(verdicts)


_REDIS_READS = frozenset(
    """
    info ping get mget strlen exists ttl pttl type keys scan dbsize llen lrange scard smembers sismember hget
    hgetall hlen hkeys zcard zrange zscore xlen xinfo lastsave time role object randomkey hscan sscan zscan
    getrange bitcount echo command
    """.split()
)
_REDIS_PAIRS = frozenset(
    """
    config:get client:list client:info memory:usage memory:stats memory:doctor slowlog:get slowlog:len
    cluster:info cluster:nodes latency:latest latency:doctor acl:whoami acl:list module:list pubsub:channels
    sentinel:masters
    """.split()
)
_REDIS_DESTROYS = re.compile(
    r"(?i)del|unlink|flush\w*|eval\w*|script|shutdown|fcall\w*|function|debug|migrate|restore|swapdb|[lrs]pop|"
    r"[lzsh]?(?:rem|del|trim)\w*|getdel|module|replicaof|slaveof|failover|config|acl|rename|x(?:del|trim)|set"
)


def redis(words: Sequence[Word], _inside: Inside) -> Verdict:
    """The command, after the connection's options."""
    rest = list(words[1:])
    while rest and rest[0].known and rest[0].text.startswith("-"):
        option = rest.pop(0).text
        if option in ("-h", "-p", "-n", "-a", "-u", "-s", "--user", "--pass") and rest:
            rest.pop(0)
        elif option in ("--version", "-v", "--bigkeys", "--memkeys", "--hotkeys", "--stat", "--latency"):
            return READS
        elif option not in ("--raw", "--no-raw", "--no-auth-warning", "--csv", "--json", "--tls", "-c", "-3"):
            return destroy(f"Nomos does not know redis-cli's option {option}: it may run a script")
    if not rest or not all(word.known for word in rest):
        return destroy("redis-cli's command is not in the text")
    verb = rest[0].text.casefold()
    pair = f"{verb}:{rest[1].text.casefold()}" if len(rest) > 1 else ""
    if verb in _REDIS_READS or pair in _REDIS_PAIRS:
        return READS
    if verb == "config" and pair in ("config:set", "config:rewrite", "config:resetstat"):
        return change("it changes the server's settings")
    if verb != "set" and _REDIS_DESTROYS.fullmatch(verb):
        return destroy(f"redis {verb.upper()} deletes, or runs code")
    return change(f"redis {verb.upper()} changes data")


def jq(words: Sequence[Word], inside: Inside) -> Verdict:
    """A filter can name the environment."""
    verdict = inside.table(words)
    if verdict == READS and any(re.search(r"\$ENV|\benv\b|\bstrenv\b", word.text) for word in words[1:]):
        return sensitive("it shows variables of the environment, also secret ones")
    return verdict
