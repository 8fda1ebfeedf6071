// The clients of the recorded run, in a process of their own under the same preload library as the
// server: what they begin and what they are told becomes lines of ack.log, and so has its place in
// the trace among the server's writes and syncs.

import { appendFileSync, closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Prng } from "../../sim/prng.ts";
import { ApiLedger, type LedgerEvent, showEvent } from "./api-ledger.ts";
import { Api, NodePlace } from "./api-server.ts";
import { Workload } from "./api-workload.ts";
import { ACK_FILE } from "../disk/trace.ts";
import { errorText } from "../../tests/support/error-text.ts";

export interface RecorderOptions {
  readonly url: string;
  readonly directory: string;
  readonly clients: number;
  /** Writes of each client, in each of two halves with the server sealed between them. */
  readonly writes: number;
  readonly seed: number;
}

async function main(options: RecorderOptions, tell: (event: LedgerEvent) => void): Promise<void> {
  const { url, clients, writes } = options;
  const random = new Prng(options.seed);
  const ledger = new ApiLedger();
  const note = (event: LedgerEvent) => {
    ledger.take(event);
    tell(event);
  };
  note({ what: "begin", register: "term", value: "1" }); // comes with the init
  const keys = await new Api(url).init();
  note({ what: "done", register: "init", value: JSON.stringify(keys) });
  note({ what: "done", register: "term", value: "1" });
  const place = new NodePlace(options.directory);
  const api = new Api(url, keys.token);
  await api.unseal(keys, random);
  const file = { type: "file", options: { file_path: place.auditFile("file") } };
  note({ what: "begin", register: "device/file", value: "on" });
  await api.expect([204], "POST", "sys/audit/file", { body: file });
  note({ what: "done", register: "device/file", value: "on" });
  for (const half of ["first", "second"]) {
    const own = random.fork(half);
    const workload = new Workload({
      api,
      ledger,
      place,
      random: own,
      clients,
      writes,
      onEvent: tell,
    });
    await workload.ended;
    if (workload.wrong.length > 0) throw new Error(workload.wrong.join("; "));
    if (half === "second") break;
    await api.expect([204], "POST", "sys/seal");
    await api.unseal(keys, random);
  }
  api.close();
}

const options = JSON.parse(process.argv[2] ?? "{}") as RecorderOptions;
const path = join(options.directory, ACK_FILE);
appendFileSync(path, "", { mode: 0o600 });
const fd = openSync(path, "a");
try {
  await main(options, (event) => void writeSync(fd, `${showEvent(event)}\n`));
} catch (error) {
  process.stderr.write(`stopped: ${errorText(error)}\n`);
  process.exitCode = 1;
} finally {
  closeSync(fd);
}
