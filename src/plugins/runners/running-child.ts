// A process of this machine, as a runner hands it on.

import { Readable } from "node:stream";
import type { Child, ChildProcesses } from "@holdfast/shared/world";
import type { Attachment } from "../ports.ts";
import type { Exit, Kept, Running } from "./runner.ts";

/** Recorded before anybody hears of it; where that cannot be done it does not go on. */
export async function runningChild(
  children: ChildProcesses,
  child: Child,
  kept: Kept,
): Promise<Running> {
  const { pid, began, stdout, stderr, exited } = child;
  let isOver = false;
  void exited.then(() => (isOver = true));
  try {
    await kept.group({ pid, began });
  } catch (error) {
    child.killGroup();
    throw error;
  }
  return {
    pid,
    stdout,
    stderr,
    exited,
    kill: () => {
      if (!isOver) child.killGroup();
    },
    memory: () => (isOver ? null : memoryOf(children, pid)),
  };
}

/** One that somebody else has started, in a debugger say, and ends: what it prints is not ours to read, and to kill it is to let go of it. */
export function attachedTo({ pid }: Attachment, children: Pick<ChildProcesses, "look">): Running {
  const { promise: exited, resolve } = Promise.withResolvers<Exit>();
  return {
    pid,
    stdout: Readable.from([]),
    stderr: Readable.from([]),
    exited,
    kill: () => resolve({ code: null, signal: null }),
    memory: () => children.look(pid)?.memory ?? null,
  };
}

/** Of all that is in its group: wrappers wait beside what they have started. */
function memoryOf(children: ChildProcesses, group: number): number | null {
  let sum: number | null = null;
  for (const pid of children.all()) {
    const facts = children.look(pid);
    if (facts?.group === group) sum = (sum ?? 0) + facts.memory;
  }
  return sum;
}
