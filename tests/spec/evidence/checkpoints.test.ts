// Checkpoints of audit files: written while the server runs, and checked by somebody who has the files and the keys.

import assert from "node:assert/strict";
import { copyFileSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import test, { type TestContext } from "node:test";
import { MINUTE } from "@holdfast/shared/text/duration";
import { checkAuditFiles } from "../../../src/signed/audit-check.ts";
import { rotatedFiles } from "../../../src/audit/devices/rotated-files.ts";
import { LEASES_ENDED } from "../../../src/signed/kinds.ts";
import { readReport } from "../../../src/signed/report.ts";
import { run } from "../../cli/harness.ts";
import { at } from "../../support/http-client.ts";
import { until } from "../../support/until.ts";
import { type EvidenceStage, evidenceStage, type WireEnvelope } from "./evidence-stage.ts";

interface Line {
  readonly type: string;
  readonly number: number;
}

async function audited(t: TestContext, options: object = {}) {
  const stage = await evidenceStage(t);
  const path = join(stage.test.auditDirectory, "audit.log");
  const body = { type: "file", options: { file_path: path, ...options } };
  await stage.ask("POST", "sys/audit/file", body);
  return { stage, path, keys: stage.file(await stage.keys()) };
}

/** Requests, and a checkpoint behind them. */
async function checkpoint(stage: EvidenceStage, path: string): Promise<void> {
  const before = checkpointsIn(path);
  for (let i = 0; i < 3; i++) await stage.ask("GET", "sys/mounts");
  await stage.time.pass(10n * MINUTE); // and no more: a write that is under way must not run out of time
  await until(() => checkpointsIn(path) > before);
}

const check = (keys: string, ...files: string[]) =>
  run(["audit", "verify", "-keys", keys, ...files]);
const linesOf = (path: string) => readFileSync(path, "utf8").split("\n").slice(0, -1);
const parsed = (path: string) => linesOf(path).map((line) => JSON.parse(line) as Line);
const checkpointsIn = (path: string) =>
  parsed(path).filter(({ type }) => type === "checkpoint").length;

test("PV52: a file with its checkpoints is good wherever it is moved; what is edited, cut out or put in is found", async (t) => {
  const { stage, path, keys } = await audited(t);
  for (let i = 0; i < 3; i++) await checkpoint(stage, path);
  const moved = join(stage.folder, "elsewhere.txt");
  copyFileSync(path, moved);
  const good = await check(keys, moved);
  assert.equal(good.code, 0, good.all);
  const all = linesOf(moved);
  const changed = join(stage.folder, "changed.log");
  const checkChanged = async (lines: readonly string[], code: number, what: string) => {
    writeFileSync(changed, lines.map((line) => `${line}\n`).join(""));
    const result = await check(keys, changed);
    assert.equal(result.code, code, `${what}: ${result.all}`);
  };
  const last = parsed(moved).findLastIndex(({ type }) => type === "checkpoint");
  assert.equal(last, all.length - 1);
  for (let i = 0; i < last; i++) {
    const { type, number } = JSON.parse(all[i]!) as Line;
    const what = `line ${i + 1} of ${all.length} (${type} ${number})`;
    const flipped = all[i]!.replace('"time":"20', '"time":"21');
    await checkChanged(all.with(i, flipped), 1, `${what} edited`);
    await checkChanged(all.toSpliced(i, 1), 1, `${what} cut out`);
    // The first line of a device may have those of another before it, which nobody has signed.
    await checkChanged(all.toSpliced(i, 0, all[i]!), i === 0 ? 2 : 1, `${what} twice`);
  }
  await checkChanged(all.toSpliced(2, 2, all[3]!, all[2]!), 1, "two lines exchanged");
  const next = all[3]!.replace(/"number":\d+/, `"number":${all.length + 1}`);
  await checkChanged([...all, next], 2, "a line behind the last checkpoint is not signed yet");
  await checkChanged(all.slice(0, -1), 2, "without its last checkpoint the end is not signed");
  await checkChanged(all.slice(3), 1, "cut at the front");
});

test("PV50: a genuine report of another kind in the place of a checkpoint vouches for nothing", async (t) => {
  const { stage, path, keys } = await audited(t);
  await checkpoint(stage, path);
  await checkpoint(stage, path);
  const all = linesOf(path);
  const last = all.length - 1;
  const line = JSON.parse(all[last]!) as { readonly envelope: WireEnvelope };
  // With everything in it that a checkpoint has, signed by the same key: only its kind is another.
  const genuine = readReport(Buffer.from(line.envelope.payload, "base64"));
  assert.ok(genuine !== null);
  const { number, previous, subject, inputs } = genuine;
  const result = { ...genuine.result, state: "intact" };
  const { envelope } = await stage.test.server.evidence.signApart(
    { kind: LEASES_ENDED, subject, result, inputs, statement: "s" },
    { number, previous },
  );
  const other = join(stage.folder, "other.log");
  writeFileSync(
    other,
    `${[...all.slice(0, -1), JSON.stringify({ ...line, envelope })].join("\n")}\n`,
  );
  const checked = await check(keys, other);
  assert.equal(checked.code, 1, checked.all);
  assert.match(checked.stdout, /called a checkpoint, and what is in it is none/);
  const own = stage.file(await stage.envelope(await stage.sign()));
  const confused = await check(keys, own);
  assert.notEqual(confused.code, 0, confused.all);
});

test("PV52: rotated files carry their own last checkpoint, and a missing one between them is told", async (t) => {
  const { stage, path, keys } = await audited(t, { rotate_bytes: "20000" });
  const rotated = () =>
    rotatedFiles(path, readdirSync(stage.test.auditDirectory)).map((name) =>
      join(stage.test.auditDirectory, name),
    );
  while (rotated().length < 3) await stage.ask("GET", "sys/mounts");
  await stage.ask("PUT", "sys/seal"); // the live one gets its last checkpoint too
  const files = [...rotated(), path];
  for (const file of files) {
    const alone = await check(keys, file);
    assert.equal(alone.code, 0, `${basename(file)}: ${alone.all}`);
  }
  const together = await check(keys, ...files.toReversed());
  assert.equal(together.code, 0, together.all);
  const [first = "", , third = ""] = files;
  const gap = await check(keys, first, third);
  assert.equal(gap.code, 2, gap.all);
});

test("PV52: a file that was moved away and opened anew ends with a checkpoint; the chain holds for the server too", async (t) => {
  const { stage, path, keys } = await audited(t);
  await checkpoint(stage, path);
  const away = `${path}.1`;
  renameSync(path, away);
  await stage.ask("GET", "sys/mounts");
  await stage.test.server.audit.reload();
  const moved = await check(keys, away);
  assert.equal(moved.code, 0, moved.all);
  await stage.ask("GET", "sys/mounts");
  await stage.ask("PUT", "sys/seal");
  const both = await check(keys, away, path);
  assert.equal(both.code, 0, both.all);
});

test("PV52: after a stop the next process goes on; what was edited meanwhile is told by the server itself", async (t) => {
  const { stage, path, keys } = await audited(t);
  await stage.ask("GET", "sys/mounts");
  await stage.ask("PUT", "sys/seal");
  await stage.test.unseal(stage.shares);
  await checkpoint(stage, path);
  assert.equal((await check(keys, path)).code, 0);
  assert.equal(at(await stage.ask("POST", "sys/audit-verify/file"), "data", "valid"), true);
  await stage.ask("PUT", "sys/seal");
  const text = readFileSync(path, "utf8");
  const lines = text.split("\n");
  // Behind the last checkpoint but one, so that nobody has signed for it yet: as after a crash.
  writeFileSync(
    path,
    `${lines.slice(0, -2).join("\n")}\n`.replace(/"time":"20(?![^]*"time":"20)/, '"time":"21'),
  );
  await stage.test.unseal(stage.shares);
  await checkpoint(stage, path);
  const edited = await check(keys, path);
  assert.equal(edited.code, 1, edited.all);
});

test("a report is found in the audit files at the place that it names", async (t) => {
  const { stage, path, keys } = await audited(t);
  await stage.ask("GET", "sys/mounts");
  const number = await stage.sign();
  const report = stage.file(await stage.envelope(number));
  await checkpoint(stage, path);
  const folder = stage.test.auditDirectory;
  const verify = () => run(["evidence", "verify", "-keys", keys, "-audit", folder, report]);
  const good = await verify();
  assert.equal(good.code, 0, good.all);
  const whole = readFileSync(path);
  renameSync(path, join(stage.folder, "audit.log"));
  writeFileSync(path, whole.subarray(0, 40));
  const gone = await verify();
  assert.equal(gone.code, 2, gone.all);
  writeFileSync(path, whole.toString().replaceAll(/"mac":"[0-9a-f]{8}/g, '"mac":"00000000'));
  assert.equal((await verify()).code, 1);
});

test("a file with something wrong in each of its many lines is told of whole", () => {
  const line = Buffer.from(`{"a":1,"number":1,"mac":"${"0".repeat(64)}"}\n`);
  const count = 200_000;
  const lines = () => Array.from({ length: count }, () => line);
  const options = { keys: new Map(), fingerprint: null };
  const findings = checkAuditFiles([{ name: "audit.log", lines }], options);
  assert.equal(findings.filter(({ text }) => text === "it is out of order").length, count - 1);
});
