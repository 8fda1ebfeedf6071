// The door to the engine, and the only place that loads it: see program.ts for why it is a promise.

import type { Programs } from "./program.ts";

export async function loadPrograms(): Promise<Programs> {
  const { ProgramEngine } = await import("./running/engine.ts");
  return new ProgramEngine();
}
