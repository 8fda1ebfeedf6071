// The keeper: a program that waits until the server is gone, however it went, and then ends what that has left running. It
// reads from a pipe whose other end only the server has. For a shell, since it must be there when we are not, and be small.

/** `$1` is the folder of the run, `$2` the variable by which what runs for it is known. Nothing that a plugin says comes here. */
export const KEEPER_SCRIPT = `
trap '' HUP INT QUIT TERM PIPE
exec >/dev/null 2>&1
run=$1
mark=$2
while read -r _; do :; done

# When a process began; empty where it is gone.
began() {
  began=
  { read -r line <"/proc/$1/stat"; } || return 0
  set -- \${line##*) }
  case $1 in Z | X) ;; *) began=\${20} ;; esac
}

for record in "$run"/*.group; do
  { read -r pid first <"$record"; } || continue
  began "$pid"
  if [ -z "$began" ] || [ "$began" = "$first" ]; then kill -KILL "-$pid"; fi
done
for record in "$run"/*.end; do
  [ -f "$record" ] || continue
  set --
  while IFS= read -r word; do set -- "$@" "$word"; done <"$record"
  "$@" </dev/null &
done
# What has left its group still has our mark; what is started meanwhile as well.
round=0
while [ $round -lt 20 ]; do
  found=$(grep -lsF "$mark" /proc/[0-9]*/environ) || break
  for one in $found; do
    one=\${one#/proc/}
    kill -KILL "\${one%/environ}"
  done
  round=$((round + 1))
done
wait
rm -rf "$run"
`;
