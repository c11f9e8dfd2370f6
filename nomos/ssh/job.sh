# Nomos's detached jobs, in POSIX sh (dash, bash, busybox ash; Linux only: it reads /proc).
#
# Nothing of this is kept on the host. It travels with every request as the text of a variable (nomos/ssh/request.py):
#     M  a word that marks our lines, so that what a login script prints is not taken for them
#     B  the folder for jobs      I  what runs commands, empty for the host's own      C  the command, or a line of input
#     S  this script, which is run by: eval "$S"
# with the arguments:
#     probe | start ID CAP TIMEOUT GRACE [stdin] | status ID | follow ID OFFSET SECONDS | cancel ID TERM|KILL | input ID
#
# A job is the folder B/ID, taken by mkdir. Its state is in the NAMES of files, because a rename is atomic and needs
# no free block, also on a full disk:
#     s.PID.START.BOOT   the supervisor (process, its start, the boot of the host): whoever won the mkdir
#     c.PID.START        the command; c.0 before it runs
#     st.running, then st.exit.CODE.SIZE.TIME
#     cut.1 output was cut    late.1 the time was over    cancel.1 Nomos sent a signal       (each .0 before)
#     out  stdout and stderr in one stream     cmd  the command, for people     pipe  from the command to the spooler
#     in   a fifo, the command's stdin if it was started with one; the supervisor holds it open, so it never ends
#     alive  a fifo whose write end only the supervisor holds: readers get EOF when it ends, however it ends
# Only the winner of the mkdir can start the command. So: no st.* and a dead supervisor means it never started.

set -u
umask 077
LC_ALL=C
export LC_ALL
BLOCK=65536
KEEP_OUTPUT_DAYS=14
KEEP_FOLDER_DAYS=400
NL='
'

say() { printf 'NOMOS1 %s %s\n' "$M" "$*"; }

# --- processes ------------------------------------------------------------------------------------------------------

# look PID: sets L_PID, L_PARENT, L_GROUP, L_START. False for a zombie: one whose parent never reaps is not alive.
look() {
  { IFS= read -r L_ <"/proc/$1/stat"; } 2>/dev/null || return 1
  L_PID=${L_%% *}
  L_=${L_##*) }
  set -- $L_
  case $1 in [ZXx]) return 1 ;; esac
  L_PARENT=$2 L_GROUP=$3 L_START=${20}
}

# lives PID START: the same process, not a later one with its number.
lives() { look "$1" && [ "$L_START" = "$2" ]; }

# group_lives PGID: kill -0 would also succeed for a group of zombies.
group_lives() {
  for F_ in /proc/[0-9]*; do
    look "${F_#/proc/}" && [ "$L_GROUP" = "$1" ] && return 0
  done
  return 1
}

# descendants PID: also those that left the group for a session of their own, as a Proxmox task worker does.
descendants() {
  PAIRS_=
  for F_ in /proc/[0-9]*; do
    look "${F_#/proc/}" && PAIRS_="$PAIRS_ $L_PID:$L_PARENT"
  done
  FAMILY_=" $1 " GREW_=1
  while [ "$GREW_" = 1 ]; do
    GREW_=0
    for P_ in $PAIRS_; do
      case $FAMILY_ in *" ${P_%:*} "*) continue ;; esac
      case $FAMILY_ in *" ${P_#*:} "*) FAMILY_="$FAMILY_${P_%:*} " GREW_=1 ;; esac
    done
  done
  FAMILY_=${FAMILY_#" $1 "}
}

# The boot id alone is the machine's, also inside its containers; the start of process 1 tells their boots apart.
find_boot() {
  BOOT=
  { read -r BOOT </proc/sys/kernel/random/boot_id; } 2>/dev/null
  look 1 || L_START=x
  BOOT=${BOOT:-x}-$L_START
}

# When this boot began, in Unix time: process 1 counts in hundredths from the start of the kernel. Empty if that does
# not fit the clock, as in a container that is shown another start than its kernel's.
find_since() {
  while read -r K_ V_; do
    [ "$K_" = btime ] || continue
    SINCE=$((V_ + ${BOOT##*-} / 100))
    [ "$SINCE" -le "$(date +%s)" ] || SINCE=
    return
  done </proc/stat
}

# after SECONDS [COMMAND…]: to be run in a background subshell; ended early by TERM, it takes its sleep along.
after() {
  NAP_=
  trap '[ -z "$NAP_" ] || kill "$NAP_" 2>/dev/null; exit 0' TERM
  sleep "$1" &
  NAP_=$!
  wait "$NAP_"
  shift
  "$@"
}

# --- state ----------------------------------------------------------------------------------------------------------

read_names() {
  S_PID= S_START= S_BOOT= C_PID= C_START= ST= CUT=0 LATE=0 CANCEL=0
  for N_ in "$D"/*; do
    N_=${N_##*/}
    case $N_ in
      s.*) N_=${N_#s.} S_PID=${N_%%.*} N_=${N_#*.} S_START=${N_%%.*} S_BOOT=${N_#*.} ;;
      c.*.*) N_=${N_#c.} C_PID=${N_%%.*} C_START=${N_#*.} ;;
      st.*) ST=${N_#st.} ;;
      cut.1) CUT=1 ;;
      late.1) LATE=1 ;;
      cancel.1) CANCEL=1 ;;
    esac
  done
}

# What runs a leaderless group: nothing once the number belongs to a later process.
command_lives() {
  [ -n "$C_PID" ] || return 1
  look "$C_PID" && { [ "$L_START" = "$C_START" ]; return; }
  group_lives "$C_PID"
}

size_of() { SIZE=$(wc -c 2>/dev/null <"$1") || SIZE=0; SIZE=$((SIZE + 0)); }

# A failing redirection of ':' would end the shell, for it is a special builtin.
empty() { printf '' >"$1"; }

# find_state: sets STATE, WHY, CODE, SIZE
find_state() {
  STATE= WHY= CODE= SIZE=0 SINCE= S_PID= C_PID= CUT=0 LATE=0 CANCEL=0
  find_boot
  [ -d "$D" ] || { STATE=missing; return; }
  read_names
  [ -n "$S_PID" ] || { sleep 1; read_names; }   # between the mkdir and the next line of the winner
  SUPERVISED=0
  [ "$S_BOOT" = "$BOOT" ] && lives "$S_PID" "$S_START" && SUPERVISED=1
  # Liveness first, then the names again: a job that ends between the two must come out as exited.
  case $ST in exit.*) ;; *) read_names ;; esac
  case $ST in
    exit.*)
      STATE=exited CODE=${ST#exit.} SIZE=${CODE#*.} CODE=${CODE%%.*} SIZE=${SIZE%%.*} KEPT_=$SIZE
      size_of "$D/out"
      if [ "$SIZE" -lt "$KEPT_" ]; then WHY=output_lost
      else
        SIZE=$KEPT_
        [ "$CODE" = 143 ] && [ $LATE$CANCEL = 00 ] && WHY=signal_from_outside
      fi
      return ;;
  esac
  size_of "$D/out"
  if [ "$SUPERVISED" = 1 ]; then
    if [ "$ST" = running ]; then STATE=running; else STATE=starting; fi
  elif [ -z "$S_PID" ]; then STATE=unknown WHY=claimed_only
  elif [ "$S_BOOT" != "$BOOT" ]; then STATE=unknown WHY=host_restarted; find_since
  elif [ -z "$ST" ]; then STATE=never_started
  elif command_lives; then STATE=orphaned WHY=supervisor_died
  else STATE=unknown WHY=supervisor_died
  fi
}

say_state() {
  say "state=$STATE code=$CODE size=$SIZE cut=$CUT late=$LATE cancel=$CANCEL boot=$BOOT supervisor=$S_PID command=$C_PID why=$WHY since=$SINCE took=${TOOK:-}"
}

report() {
  find_state
  say_state
}

# --- where jobs live ------------------------------------------------------------------------------------------------

# take_base FOLDER: ours alone, and no link somebody else could have laid.
take_base() {
  case $1 in /*) ;; *) WHY='not an absolute path'; return 1 ;; esac
  [ -d "$1" ] || WHY=$(mkdir -p "$1" 2>&1) || return 1
  [ ! -L "$1" ] || { WHY='is a symbolic link'; return 1; }
  [ -O "$1" ] || { WHY='belongs to another user'; return 1; }
}

try_base() {
  take_base "$1" || return 1
  WHY=$(chmod 700 "$1" 2>&1) || return 1
  T_=$1/.try-$$
  WHY=$({ mkfifo "$T_" && echo 'room for a line' | cat >"$T_.f"; } 2>&1)
  OK_=$?
  rm -f "$T_" "$T_.f"
  return $OK_
}

find_shell() { SHELL_=$(command -v bash) || SHELL_=$(command -v sh); }

probe() {
  find_boot
  look $$ || { say "refused=no_proc"; return 0; }
  find_shell
  ID_=$(id -u)
  if [ -n "$B" ]; then set -- "$B"
  else
    set -- "${HOME:-}/.local/state/nomos/jobs" "/var/lib/nomos-$ID_/jobs" "/var/tmp/nomos-$ID_/jobs" \
      "/run/user/$ID_/nomos/jobs" "/tmp/nomos-$ID_/jobs" "/dev/shm/nomos-$ID_/jobs"
  fi
  for F_ in "$@"; do
    if try_base "$F_"; then
      say "boot=$BOOT shell=$SHELL_"
      say "base $F_"
      say "system $(uname -srm)"
      return 0
    fi
    say "base_refused $F_: $(printf '%s' "$WHY" | tr '\n' ' ')"
  done
  say "refused=no_base"
}

# Old jobs: their output goes first. The folder stays much longer, because it is what stops a second start.
sweep() {
  find "$B/." ! -name . -prune -type d -mtime "+$KEEP_OUTPUT_DAYS" 2>/dev/null | while IFS= read -r D; do
    [ -e "$D/out" ] || continue
    find_state
    case $STATE in exited | unknown | never_started) rm -f "$D/out" "$D/cmd" "$D/pipe" "$D/in" "$D/alive" ;; esac
  done
  find "$B/." ! -name . -prune -type d -mtime "+$KEEP_FOLDER_DAYS" 2>/dev/null | while IFS= read -r D; do
    [ -e "$D/out" ] || rm -rf "$D"
  done
}

# --- start ----------------------------------------------------------------------------------------------------------

# The supervisor is a member of a pipeline and not started with '&': that would make the whole job ignore INT and QUIT,
# and no shell can undo it. The shell would wait for it, so the other member passes its one line on and ends the shell.
# Redirections stand on simple commands and 'exec' alone: dash and ash keep what a redirected function or group replaced
# open in the waiting shell, and sshd would not close the channel while the job runs.
start() {
  export S B I C M
  if command -v setsid >/dev/null 2>&1; then SETSID=setsid; else SETSID=; fi
  export SETSID
  $SETSID sh -c 'eval "$S"' nomos-job supervise "$@" </dev/null 2>/dev/null | {
    IFS= read -r LINE && printf '%s\n' "$LINE"
    kill -KILL $$
  }
}

prepare() {
  empty "$D/c.0" && empty "$D/cut.0" && empty "$D/late.0" && empty "$D/cancel.0" && empty "$D/out" \
    && mkfifo "$D/pipe" "$D/alive" ${INPUT:+"$INPUT"} && write_command
}

# By cat only to be told the reason when the shell's own printf failed: each program costs a start some milliseconds.
write_command() {
  { printf '%s\n' "$C" >"$D/cmd"; } 2>/dev/null && [ -s "$D/cmd" ] && return
  printf '%s\n' "$C" | cat >"$D/cmd"
}

refuse() {
  say "refused=$1 detail=$(printf '%s' "$WHY" | tr '\n' ' ')"
  exit 0
}

supervise() {
  CAP=$2 TIMEOUT=$3 GRACE=$4 STDIN=/dev/null INPUT=
  [ "${5:-}" != stdin ] || { STDIN=$D/in INPUT=$D/in; }
  # Handlers, never '': what is ignored here would be ignored by the command too.
  trap : TERM HUP INT QUIT PIPE USR1
  find_boot
  take_base "$B" || refuse base
  if ! WHY=$(mkdir "$D" 2>&1); then
    [ -d "$D" ] || refuse mkdir
    report
    exit 0
  fi
  look $$
  { empty "$D/s.$$.$L_START.$BOOT" && WHY=$(prepare 2>&1); } || { rm -rf "$D"; refuse prepare; }
  exec 9<>"$D/alive" 7<>"$STDIN"
  { exec 7>&- 9>&- >/dev/null; spool; } <"$D/pipe" &
  SPOOLER=$!
  exec 8>"$D/pipe"
  empty "$D/st.running" || { rm -rf "$D"; WHY='no room for a file'; refuse prepare; }
  TIMER=
  if [ "$TIMEOUT" -gt 0 ]; then
    { exec 7>&- 8>&- 9>&- >/dev/null; watch_time; } &
    TIMER=$!
  fi
  ( exec 3>&1 <"$STDIN" >&8 2>&8 7>&- 8>&- 9>&-; run )
  CODE=$?
  exec 8>&-
  [ -z "$TIMER" ] || kill "$TIMER" 2>/dev/null
  # What the command left behind may keep the pipe for ever; a signal ends the wait for it.
  { exec 7>&- 9>&- >/dev/null; after 2 kill -USR1 $$; } &
  GUARD=$!
  wait "$SPOOLER"
  kill "$GUARD" 2>/dev/null
  size_of "$D/out"
  mv "$D/st.running" "$D/st.exit.$CODE.$SIZE.$(date +%s)"
  exec 7>&- 9>&- >/dev/null
  sweep
}

# run: becomes the command. Its number stays the same through exec and setsid.
run() {
  trap : PIPE     # who asked may be gone
  look self
  { empty "$D/c.$L_PID.$L_START"; } 2>/dev/null || mv "$D/c.0" "$D/c.$L_PID.$L_START"     # a rename needs no room
  C_PID=$L_PID
  say "state=running code= size=0 cut=0 late=0 cancel=0 boot=$BOOT supervisor=$$ command=$C_PID why=" 2>/dev/null >&3
  exec 3>&-
  USER_=${USER:-$(id -un)}
  cd "${HOME:-/}" 2>/dev/null || cd /
  set -- -c "$C"
  PATH_=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin:/run/current-system/sw/bin
  if [ -n "$I" ]; then set -- "$I" "$@"
  elif PATH=$PATH_ command -v bash >/dev/null 2>&1; then set -- bash --noprofile --norc "$@"
  else set -- sh "$@"
  fi
  exec $SETSID env -i PATH="$PATH_" HOME="${HOME:-/}" USER="$USER_" LOGNAME="$USER_" LANG=C.UTF-8 TERM=dumb \
    PAGER=cat SYSTEMD_PAGER=cat GIT_PAGER=cat LESSSECURE=1 GIT_TERMINAL_PROMPT=0 \
    DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l APT_LISTCHANGES_FRONTEND=none NOMOS_JOB="$ID" "$@"
}

# Copies at most CAP bytes to the file and reads the rest away: a full disk or a long output must not hurt the command.
# dd writes what each read gave at once; a buffering reader would hold lines back.
spool() {
  SIZE=0
  while :; do
    N_=$(((CAP - SIZE + BLOCK - 1) / BLOCK))
    [ "$N_" -gt 0 ] || break
    R_=$(dd bs=$BLOCK count="$N_" 2>&1 >>"$D/out") || break
    R_=${R_%% records in*} R_=${R_##*"$NL"}     # GNU dd may warn on a line before
    case $R_ in *[!0-9+]* | '') break ;; esac
    [ $(($R_)) -lt "$N_" ] && return 0
    size_of "$D/out"
  done
  mv "$D/cut.0" "$D/cut.1" 2>/dev/null
  exec cat >/dev/null
}

# In steps, so that it does not outlive the command by more than one when the supervisor was killed.
watch_time() {
  LEFT_=$TIMEOUT
  while [ "$LEFT_" -gt 0 ]; do
    STEP_=$LEFT_
    [ "$STEP_" -le 60 ] || STEP_=60
    after "$STEP_"
    LEFT_=$((LEFT_ - STEP_))
    read_names
    [ -z "$C_PID" ] || command_lives || return 0
  done
  mv "$D/late.0" "$D/late.1" 2>/dev/null
  send TERM
  after "$GRACE" send KILL
}

# --- cancel ---------------------------------------------------------------------------------------------------------

# send SIGNAL: to the command's group. KILL also takes what left the group, which must be listed before it is orphaned.
# Without setsid on the host there is no group of its own, so the tree is walked for TERM too.
send() {
  command_lives || return 0
  STRAYS=
  GROUP_=0
  group_lives "$C_PID" && GROUP_=1
  if [ "$1" = KILL ] || [ $GROUP_ = 0 ]; then descendants "$C_PID"; STRAYS=$FAMILY_; fi
  if [ $GROUP_ = 1 ]; then kill -"$1" -"$C_PID" 2>/dev/null; else kill -"$1" "$C_PID" 2>/dev/null; fi
  for P_ in $STRAYS; do kill -"$1" "$P_" 2>/dev/null; done
}

cancel() {
  find_state
  case $STATE in
    running | orphaned)
      [ -n "$C_PID" ] || { sleep 1; read_names; }
      mv "$D/cancel.0" "$D/cancel.1" 2>/dev/null
      send "$1" ;;
  esac
  report
}

# --- input ----------------------------------------------------------------------------------------------------------

# A line of at most PIPE_BUF bytes goes into the fifo as a whole or not at all, so a writer that has to wait because
# nobody reads may be killed. Opened to read as well, for without a reader opening would wait and writing would fail.
input() {
  find_state
  TOOK=
  if [ "$STATE" != running ]; then TOOK=no
  elif [ ! -p "$D/in" ]; then TOOK=closed
  else
    printf '%s\n' "$C" 1<>"$D/in" 2>/dev/null &
    WRITER=$!
    { after 2 kill $WRITER; } >/dev/null 2>&1 &
    GUARD=$!
    if wait $WRITER 2>/dev/null; then TOOK=yes; else TOOK=full; fi
    kill $GUARD 2>/dev/null
  fi
  say_state
}

# --- follow ---------------------------------------------------------------------------------------------------------

# On stdout the state, a line that begins the output, and the output; in the end the state again, on stderr.
follow() {
  report
  say begin
  case $STATE in
    running) ;;
    orphaned) ;;
    starting) sleep 1; return ;;
    *) [ ! -e "$D/out" ] || tail -c "+$(($1 + 1))" "$D/out"; return ;;
  esac
  exec 3<&0     # '&' would give the watcher /dev/null
  sleep "$2" >/dev/null 2>&1 &
  NAP=$!
  tail -c "+$(($1 + 1))" -f "$D/out" 2>/dev/null &
  TAIL=$!
  # Each helper ends the nap; a signal to this shell before its 'wait' would be lost.
  if [ "$STATE" = running ]; then
    # Opening a fifo to read waits for a writer, for ever if the supervisor ended just now: be that writer meanwhile.
    { exec 4<>"$D/alive" 5<"$D/alive" 4>&-; while IFS= read -r _ <&5; do :; done; kill $NAP; } >/dev/null 2>&1 &
  else
    { while command_lives; do sleep 1; done; kill $NAP; } >/dev/null 2>&1 &
  fi
  H1_=$!
  # Client gone: EOF on the channel. Without this an idle tail stays on the host for ever.
  { while IFS= read -r _ <&3; do :; done; kill $NAP; } >/dev/null 2>&1 &
  H2_=$!
  exec 3<&-
  # dash and ash report the killed nap on stderr; with the client gone that write would end this shell too early.
  trap '' PIPE TERM
  wait $NAP 2>/dev/null
  kill $TAIL $H1_ $H2_ 2>/dev/null
  report >&2
  # The helpers' own children: the whole group is ours when sshd made this shell its leader.
  look $$ && [ "$L_GROUP" = $$ ] && kill -TERM 0
}

# --- main -----------------------------------------------------------------------------------------------------------

VERB=$1
shift
ID=${1:-}
D=$B/$ID
case $VERB in
  probe) probe ;;
  start) start "$@" ;;
  supervise) supervise "$@" ;;
  status) report ;;
  follow)
    # In a shell that does not read its script from stdin: bash 5.2 dies of duplicating that descriptor.
    export S B I C M
    exec sh -c 'eval "$S"' nomos-job attached "$@" ;;
  attached) follow "$2" "$3" ;;
  cancel) cancel "$2" ;;
  input) input ;;
esac
exit 0
