// The process of a trial (trials.ts), from within: a node in a directory, on which something is done that is acknowledged.

import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { errorText } from "../../tests/support/error-text.ts";
import type { TestServer } from "../../tests/support/servers/test-server.ts";
import { ACK_FILE } from "./trace.ts";

/** Writes a line that says what has been done. */
export function acknowledgements(directory: string): (line: string) => void {
  return (line) => appendFileSync(join(directory, ACK_FILE), `${line}\n`, { mode: 0o600 });
}

/** Ends the process: with status 0, or with 1 and `stopped: CAUSE`, as the server does on a storage error. */
export async function workOn(
  start: () => Promise<TestServer>,
  share: string,
  work: (node: TestServer) => Promise<void>,
): Promise<never> {
  try {
    const node = await start();
    void node.server.failed.then(stopped);
    await node.unseal([share]);
    await work(node);
    await node.stop();
  } catch (error) {
    stopped(error);
  }
  process.exit(0);
}

function stopped(cause: unknown): never {
  process.stderr.write(`stopped: ${errorText(cause)}\n`);
  process.exit(1);
}
