// `holdfast server` by a user who owns nothing here, once for every line of arguments (JSON) on standard input. All
// code is loaded before the rights are given up: the checkout may lie where that user cannot read.

import { createInterface } from "node:readline";
import "../../../src/server/server.ts";
import "../../../src/storage/engines/sqlite-place.ts";
import { runDaemon } from "../../../src/daemon/run.ts";

const NOBODY = 65534;

if (process.geteuid?.() === 0) {
  process.setgroups?.([]);
  process.setegid?.(NOBODY);
  process.seteuid?.(NOBODY);
}
for await (const line of createInterface({ input: process.stdin })) {
  const code = await runDaemon(JSON.parse(line) as string[], process.env);
  // On both, since neither waits for the other.
  for (const stream of [process.stdout, process.stderr]) stream.write(`\0${code}\n`);
}
process.exit(0);
