// The process that the experiments kill, starve and lie to: a node's storage under the ledger's
// workload. It says "ready" when it has opened, checked and verified what was there, then one line
// per acknowledged write. On the first storage error it stops acknowledging, seals and exits with
// status 1 and the cause, as the server does.

import { appendFileSync, closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { swallowErrors } from "./plants.ts";
import { countAcks, Ledger } from "./ledger.ts";
import { openStore, type OpenOptions } from "./opened.ts";
import { ACK_FILE } from "./disk/trace.ts";
import { errorText } from "../tests/support/error-text.ts";

export interface TargetOptions {
  readonly directory: string;
  readonly clients: number;
  /** Writes of each client; 0 goes on until killed. */
  readonly writes: number;
  readonly largest: number;
  readonly checkpointBytes?: number;
  /** What earlier runs have acknowledged: a file of ack lines. */
  readonly ledger?: string;
  /** Acknowledgements go to ack.log in the directory instead of standard output. */
  readonly ackFile?: boolean;
  readonly plant?: "ack-early" | "normal-sync" | "swallow-errors";
}

async function main(options: TargetOptions): Promise<number> {
  const { plant } = options;
  const open: OpenOptions = {
    directory: options.directory,
    log: (line) => void process.stderr.write(line),
    ...(options.checkpointBytes === undefined ? {} : { checkpointBytes: options.checkpointBytes }),
    ...(plant === "normal-sync" ? { synchronous: "NORMAL" } : {}),
    ...(plant === "swallow-errors" ? { decorate: swallowErrors } : {}),
  };
  const began = performance.now();
  const { store, barrier, close } = await openStore(open);
  const opened = performance.now() - began;
  const ledger = new Ledger(barrier, options.largest);

  if (options.ledger !== undefined) {
    const known = countAcks(readFileSync(options.ledger, "utf8").split("\n").filter(Boolean));
    const wrong = ledger.verify(known, options.clients);
    const report = await store.check();
    if (!report.ok)
      wrong.push(
        `check: ${JSON.stringify(report, (_, v: unknown) => (typeof v === "bigint" ? String(v) : v))}`,
      );
    if (wrong.length > 0) {
      process.stderr.write(`VIOLATION\n${wrong.slice(0, 20).join("\n")}\n`);
      await close();
      return 4;
    }
    // What was stored but not told before the last kill has now been seen, and must stay.
    for (let id = 0; id < options.clients; id++) {
      const n = ledger.last(id);
      if (n > 0) writeSync(1, `${id} ${n}\n`);
    }
  }
  const ackFd = options.ackFile === true ? openAckFile(options.directory) : 1;
  if (ackFd === 1) writeSync(1, `ready ${opened.toFixed(0)}\n`);

  let failed = false;
  void store.failed.then(() => (failed = true));
  const client = async (id: number) => {
    for (let done = 0; (options.writes === 0 || done < options.writes) && !failed; done++) {
      const acknowledge = (n: number) => void writeSync(ackFd, `${id} ${n}\n`);
      if (plant === "ack-early") await ledger.next(id, acknowledge);
      else acknowledge(await ledger.next(id));
    }
  };
  const clients = Array.from({ length: options.clients }, (_, id) => client(id));
  const outcome = await Promise.race([
    Promise.all(clients).then(() => null),
    store.failed.then((cause) => ({ cause })),
  ]).catch((error: unknown) => ({ cause: error }));
  failed = true; // one client's error ends the others too
  await Promise.allSettled(clients);
  if (ackFd !== 1) closeSync(ackFd);
  await close().catch(() => {});
  if (outcome === null) return 0;
  process.stderr.write(`stopped: ${errorText(outcome.cause)}\n`);
  return 1;
}

function openAckFile(directory: string): number {
  appendFileSync(`${directory}/${ACK_FILE}`, "", { mode: 0o600 });
  return openSync(`${directory}/${ACK_FILE}`, "a");
}

try {
  process.exitCode = await main(JSON.parse(process.argv[2] ?? "{}") as TargetOptions);
} catch (error) {
  process.stderr.write(`stopped: ${errorText(error)}\n`);
  process.exitCode = 1;
}
