// A process of this machine, as a runner hands it on.

import type { Child, ChildProcesses } from "@holdfast/shared/world";
import type { Kept, Running } from "./runner.ts";

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

/** Of all that is in its group: wrappers wait beside what they have started. */
function memoryOf(children: ChildProcesses, group: number): number | null {
  let sum: number | null = null;
  for (const pid of children.all()) {
    const facts = children.look(pid);
    if (facts?.group === group) sum = (sum ?? 0) + facts.memory;
  }
  return sum;
}
