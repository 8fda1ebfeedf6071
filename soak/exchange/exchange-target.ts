// The process of the exchange experiment: writes, restores the snapshot, and acknowledges each of the two, in ack.log in
// the directory of its store. On a storage error it ends with status 1, as the server does. Argument: `ExchangeTarget`.

import { readFileSync } from "node:fs";
import { SystemFs } from "../../src/system/fs.ts";
import { acknowledgements, workOn } from "../disk/trial-process.ts";
import { CarelessFs, type Keys, restore, SECRETS, startNode, write } from "./exchange-node.ts";

export interface ExchangeTarget extends Keys {
  readonly directory: string;
  readonly archive: string;
  readonly rounds: number;
  readonly plant: boolean;
}

const options = JSON.parse(process.argv[2] ?? "{}") as ExchangeTarget;
const { directory, token, share } = options;
const acknowledge = acknowledgements(directory);

await workOn(
  () => startNode(directory, options.plant ? new CarelessFs() : new SystemFs()),
  share,
  async (node) => {
    const archive = readFileSync(options.archive);
    for (let round = 1; round <= options.rounds; round++) {
      for (let n = 0; n < SECRETS; n++) await write(node, token, n, `round ${round}`);
      acknowledge(`written ${round}`);
      const state = await restore(node, token, archive);
      // A restore that fails leaves everything: the next round goes on from there.
      acknowledge(`${state} ${round}`);
    }
  },
);
