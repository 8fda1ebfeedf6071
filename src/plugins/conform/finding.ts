// What came of trying a plugin.

import { explain, Failure } from "@holdfast/shared/failure";

export interface Finding {
  readonly check: string;
  /** `watch`: it runs, and whoever has written it should look. */
  readonly result: "good" | "watch" | "wrong";
  readonly found: string;
}

/** Of a check that found something to look at. */
export class Watch {
  readonly found: string;

  constructor(found: string) {
    this.found = found;
  }
}

export type Tried = () => Promise<string | Watch>;

export async function tried(check: string, run: Tried): Promise<Finding> {
  try {
    const found = await run();
    if (found instanceof Watch) return { check, result: "watch", found: found.found };
    return { check, result: "good", found };
  } catch (error) {
    const words = error instanceof Failure ? error.texts.join("; ") : "";
    return { check, result: "wrong", found: words === "" ? explain(error) : words };
  }
}
