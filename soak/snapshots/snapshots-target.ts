// The process of the experiment with snapshots: writes, has snapshots made meanwhile, saves one, and acknowledges each of
// these in ack.log. On a storage error it ends with status 1, as the server does. Argument: `SnapshotsTarget`.
//
//   wrote 7                the seventh write
//   making 8               from here on one is made that holds at least eight
//   stored NAME 8 12       it is there, and holds no more than twelve and the one that was under way
//   saved NAME 12 12       the same of a file that was saved
//   failed                 it could not be made

import { join } from "node:path";
import { SystemSnapshotFiles } from "../../src/system/snapshot-files.ts";
import { run } from "../../tests/cli/harness.ts";
import type { TestServer } from "../../tests/support/servers/test-server.ts";
import { acknowledgements, workOn } from "../disk/trial-process.ts";
import { unsynced } from "./snapshots-plants.ts";
import {
  type Keys,
  lastName,
  placesIn,
  runNow,
  SECRETS,
  startNode,
  write,
} from "./snapshots-node.ts";

export interface SnapshotsTarget extends Keys {
  readonly directory: string;
  readonly rounds: number;
  /** Without it snapshots are only made by the configuration. */
  readonly saves: boolean;
  readonly plant: boolean;
}

const WRITES = 3; // before a snapshot, and while it is made

const options = JSON.parse(process.argv[2] ?? "{}") as SnapshotsTarget;
const { directory, token, share } = options;
const acknowledge = acknowledgements(directory);
let written = SECRETS;

async function writeSome(node: TestServer): Promise<void> {
  for (let i = 0; i < WRITES; i++) {
    await write(node, token, written + 1);
    acknowledge(`wrote ${++written}`);
  }
}

async function makeOne(node: TestServer): Promise<void> {
  const from = written;
  acknowledge(`making ${from}`);
  const [answer] = await Promise.all([runNow(node, token), writeSome(node)]);
  if (answer.status >= 300) return acknowledge("failed");
  acknowledge(`stored ${await lastName(node, token)} ${from} ${written}`);
}

async function saveOne(node: TestServer, round: number): Promise<void> {
  const name = `${round}.snap`;
  const env = { HOLDFAST_ADDR: node.url, HOLDFAST_TOKEN: token };
  const from = written;
  acknowledge(`making ${from}`);
  const file = join(placesIn(directory).saved, name);
  const { code } = await run(["snapshot", "save", file], { env });
  acknowledge(code === 0 ? `saved ${name} ${from} ${written}` : "failed");
}

await workOn(
  () => {
    if (options.plant) unsynced(SystemSnapshotFiles.prototype);
    return startNode(directory);
  },
  share,
  async (node) => {
    for (let round = 1; round <= options.rounds; round++) {
      await writeSome(node);
      await makeOne(node);
      if (options.saves && round === 1) await saveOne(node, round);
    }
  },
);
