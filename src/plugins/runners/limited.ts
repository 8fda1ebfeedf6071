// Limits for what no container runtime runs: a shell makes a control group, goes into it, and becomes the program. Where one of
// the limits cannot be set nothing is run.

import { join } from "node:path";
import type { ProgramFiles } from "@holdfast/shared/world";
import type { RuntimeEntry } from "../ports.ts";

export const CGROUPS = "/sys/fs/cgroup";
const CGROUP = /^(?:\/[A-Za-z0-9][\w.:@-]*)+\/?$/;
const PERIOD = 100_000; // of processor time, in microseconds
const NANOS = 1_000_000_000;
const MIN_QUOTA = 1000; // that the kernel takes
export const MAX_PROCESSES = 256;
/** What it exits with where a limit cannot be set. */
export const NOT_LIMITED = 125;

/** `$1` the group, `$2` bytes of memory and `$3` microseconds of a processor in each period, 0 for any number; `$4` processes. */
const LIMITED = `
group=$1 memory=$2 quota=$3 processes=$4
shift 4
set -f
put() { echo "$2" 2>/dev/null >"$1" || exit ${NOT_LIMITED}; }
if [ -e ${CGROUPS}/cgroup.controllers ]; then
  at=${CGROUPS}
  IFS=/
  for part in \${group#/}; do
    echo '+cpu +memory +pids' 2>/dev/null >"$at/cgroup.subtree_control"
    at=$at/$part
    [ -d "$at" ] || mkdir "$at" 2>/dev/null || exit ${NOT_LIMITED}
  done
  unset IFS
  if [ "$memory" != 0 ]; then put "$at/memory.max" "$memory"; put "$at/memory.swap.max" 0; fi
  [ "$quota" = 0 ] || put "$at/cpu.max" "$quota ${PERIOD}"
  put "$at/pids.max" "$processes"
  put "$at/cgroup.procs" $$
else
  for kind in memory cpu pids; do
    at=${CGROUPS}/$kind$group
    mkdir -p "$at" 2>/dev/null || exit ${NOT_LIMITED}
    case $kind in
    memory)
      if [ "$memory" != 0 ]; then
        put "$at/memory.limit_in_bytes" "$memory"
        [ ! -e "$at/memory.memsw.limit_in_bytes" ] || put "$at/memory.memsw.limit_in_bytes" "$memory"
      fi ;;
    cpu)
      if [ "$quota" != 0 ]; then
        put "$at/cpu.cfs_period_us" ${PERIOD}
        put "$at/cpu.cfs_quota_us" "$quota"
      fi ;;
    pids) put "$at/pids.max" "$processes" ;;
    esac
    put "$at/cgroup.procs" $$
  done
fi
exec "$@"
`;

/** Removes the groups in `$groups`, with blanks between them, the lower ones first. Those of the first one's name are busy until the processes in them
 *  have gone, which takes a while on a busy machine; those above may have others in them, too. One line: the keeper reads it as that. */
export const REMOVE_GROUPS =
  `own=\${groups%% *}; own=\${own##*/}; left=150; for one in $groups; do ` +
  `until rmdir "$one" 2>/dev/null; do case $one in */"$own") ;; *) break ;; esac; ` +
  `[ -d "$one" ] && [ $left -gt 0 ] || break; left=$((left - 1)); sleep 0.02; done; done; true`;
const REMOVED = `set -f; groups=$1; ${REMOVE_GROUPS}`;

/** As specifications of containers and control groups take it: microseconds in each period; 0 for any number. */
export function quotaOf(cpuNanos: number): { readonly period: number; readonly quota: number } {
  const quota = cpuNanos === 0 ? 0 : Math.max(MIN_QUOTA, Math.round((cpuNanos / NANOS) * PERIOD));
  return { period: PERIOD, quota };
}

export function isCgroup(path: string): boolean {
  return CGROUP.test(path);
}

/** Where a group with this name lies in every hierarchy, and what of that is not there yet: the lower ones first. A group above it that
 *  is there already is the operator's own. */
export async function groupsToRemove(
  files: Pick<ProgramFiles, "look" | "names">,
  parent: string,
  name: string,
): Promise<string[]> {
  const places = [CGROUPS, ...(await files.names(CGROUPS)).map((place) => join(CGROUPS, place))];
  const removed = places.map((place) => `${place}${parent}/${name}`);
  if (parent === "") return removed;
  for (const place of places) {
    if ((await files.look(place + parent)) === null) removed.push(place + parent);
  }
  return removed;
}

/** Words before those of the program. */
export function limitedWords(group: string, { cpuNanos, memoryBytes }: RuntimeEntry): string[] {
  const { quota } = quotaOf(cpuNanos);
  const limits = [memoryBytes, quota, MAX_PROCESSES].map(String);
  return ["/bin/sh", "-c", LIMITED, "holdfast-limited", group, ...limits];
}

export function removingWords(groups: readonly string[]): string[] {
  return ["/bin/sh", "-c", REMOVED, "holdfast-end", groups.join(" ")];
}
