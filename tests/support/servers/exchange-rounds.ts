// The program of house-exchange.process.test.ts: exchanges houses in a row while it is asked things, and prints what the
// process has after every ten.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqliteGenerations } from "../../../src/storage/generations/sqlite-generations.ts";
import { SystemFs } from "../../../src/system/fs.ts";
import { renewed } from "./renewed-data.ts";
import { startServer } from "./test-server.ts";

const [engine, rounds, planted = ""] = process.argv.slice(2);
const ROUNDS = Number(rounds);
const plants = planted.split(",");
const directory = mkdtempSync(join(tmpdir(), "holdfast-rounds-"));
const generations =
  engine === "sqlite" ? await SqliteGenerations.claim({ directory, fs: new SystemFs() }) : null;
const node = await startServer(generations === null ? {} : { generations });
const { token } = await node.open();
const must = async (method: string, path: string, body?: object) => {
  const { status, text } = await node.call(method, path, { token, ...(body && { body }) });
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
};
await must("POST", "/v1/sys/mounts/kv", { type: "kv", options: { version: "2" } });
await must("PUT", "/v1/sys/audit/a", {
  type: "file",
  options: { file_path: `${node.auditDirectory}/a.log` },
});
for (let n = 0; n < 50; n++) await must("POST", `/v1/kv/data/s${n}`, { data: { n } });

function measure() {
  for (let n = 0; n < 4; n++) globalThis.gc?.();
  const resources = process.getActiveResourcesInfo();
  const others = resources.filter((name) => !/Timeout|Immediate|TCPSocket/.test(name)).toSorted();
  return {
    descriptors: readdirSync("/proc/self/fd").length,
    timers: resources.filter((name) => name === "Timeout").length,
    others: others.join(" "),
    heap: process.memoryUsage().heapUsed + process.memoryUsage().external,
  };
}

const measured: object[] = [];
const kept: unknown[] = [];
for (let round = 1; round <= ROUNDS; round++) {
  if (plants.includes("kept-house")) kept.push(node.server.store, node.server.mounts);
  if (plants.includes("timer")) setTimeout(() => {}, 3_600_000);
  await node.server.exchange(renewed(node.server));
  await must("GET", "/v1/kv/data/s1");
  await must("POST", "/v1/kv/data/s1", { data: { round } });
  if (round % 10 !== 0) continue;
  await new Promise((resolve) => setTimeout(resolve, 300)); // what ends with the old house, ends
  measured.push(measure());
}
process.stdout.write(`${JSON.stringify(measured)}\n`);
await node.stop();
rmSync(directory, { recursive: true, force: true });
process.exit(kept.length < 0 ? 1 : 0);
