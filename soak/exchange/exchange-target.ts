// The process of the exchange experiment: writes, restores the snapshot, and acknowledges each of the two, in ack.log in
// the directory of its store. On a storage error it ends with status 1, as the server does. Argument: `ExchangeTarget`.

import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SystemFs } from "../../src/system/fs.ts";
import { errorText } from "../../tests/support/error-text.ts";
import { ACK_FILE } from "../disk/trace.ts";
import { CarelessFs, type Keys, restore, SECRETS, startNode, write } from "./exchange-node.ts";

export interface ExchangeTarget extends Keys {
  readonly directory: string;
  readonly archive: string;
  readonly rounds: number;
  readonly plant: boolean;
}

const options = JSON.parse(process.argv[2] ?? "{}") as ExchangeTarget;
const { directory, token, share } = options;

function acknowledge(line: string): void {
  appendFileSync(join(directory, ACK_FILE), `${line}\n`, { mode: 0o600 });
}

async function main(): Promise<void> {
  const archive = readFileSync(options.archive);
  const node = await startNode(directory, options.plant ? new CarelessFs() : new SystemFs());
  void node.server.failed.then((cause) => {
    process.stderr.write(`stopped: ${errorText(cause)}\n`);
    process.exit(1);
  });
  await node.unseal([share]);
  for (let round = 1; round <= options.rounds; round++) {
    for (let n = 0; n < SECRETS; n++) await write(node, token, n, `round ${round}`);
    acknowledge(`written ${round}`);
    const state = await restore(node, token, archive);
    // A restore that fails leaves everything: the next round goes on from there.
    acknowledge(`${state} ${round}`);
  }
  await node.stop();
}

try {
  await main();
  process.exit(0);
} catch (error) {
  process.stderr.write(`stopped: ${errorText(error)}\n`);
  process.exit(1);
}
