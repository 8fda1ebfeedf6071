// Data of other keys takes the place of the data, and the data of before takes it again: audit files go on under keys
// that take turns. What nobody has changed is never called changed, what somebody has is; and what lies in a file in
// clear is believed by nobody.

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, renameSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { until } from "../../support/until.ts";
import {
  audited,
  type AuditedServer,
  BROKEN,
  type Line,
  linesOf,
  parsed,
} from "./audited-server.ts";
import { payloadOf, type WireEnvelope } from "./evidence-stage.ts";

const write = (path: string, content: readonly string[]) =>
  writeFileSync(path, content.map((line) => `${line}\n`).join(""));

const edited = (line: string) => line.replace('"time":"20', '"time":"21');

/** Files of a device, the oldest first. */
function filesOf(path: string): string[] {
  const names = readdirSync(dirname(path)).filter((name) => join(dirname(path), name) !== path);
  const own = names.filter((name) => join(dirname(path), name).startsWith(`${path}.`));
  const byNumber = own.toSorted(
    (a, b) => Number(a.split(".").at(-1)) - Number(b.split(".").at(-1)),
  );
  return [...byNumber.map((name) => join(dirname(path), name)), path];
}

/** Lines of every key in turn: each begins where the chain says so. */
function stretchesOf(path: string): number[] {
  const counts: number[] = [];
  for (const { event } of filesOf(path).flatMap(parsed)) {
    if (event === "started" || event === "exchanged") counts.push(0);
    counts.push((counts.pop() ?? 0) + 1);
  }
  return counts;
}

/** Whether the same answer is the last in all of them: one device may be behind the other, or be rotating. */
function areEven(paths: readonly string[]): boolean {
  try {
    const ends = paths.map((path) => {
      const last = filesOf(path)
        .flatMap(linesOf)
        .findLast((line) => line.includes('"response"'));
      return /"request":\{"id":"([^"]+)"/.exec(last ?? "")?.[1];
    });
    return ends[0] !== undefined && ends.every((one) => one === ends[0]);
  } catch {
    return false; // not there at this moment
  }
}

async function followed(own: AuditedServer, device: string) {
  const answer = await own.stage.ask("POST", `sys/audit-verify/${device}`);
  return {
    valid: at(answer, "data", "valid"),
    unchecked: at(answer, "data", "unchecked"),
    records: Number(at(answer, "data", "records")),
    text: answer.text,
  };
}

for (const way of ["BA", "BAB", "BABA"]) {
  test(`there and back between keys (A${way}), with files that are rotated: what is of the other key is unchecked, nothing is called changed, and changes show`, async (t) => {
    const own = await audited(t);
    await own.server.stop();
    const second = join(own.folder, "second.log");
    own.devices = { second: { file_path: second, rotate_bytes: 65_536 } };
    const mine = { token: own.stage.token, shares: own.stage.shares };
    await own.start();
    await own.unseal(mine);
    const data = { A: await own.snapshot(), B: await own.snapshotOfOther() };
    for (const name of way) {
      const next = data[name as "A" | "B"];
      for (let i = 0; i < 30; i++) await own.stage.ask("GET", "sys/mounts");
      await own.exchange(next);
      await own.unseal(next);
      data[name as "A" | "B"] = await own.snapshot(); // with the keys of the devices here
      await own.requests();
      for (const [device, path] of [
        ["main", own.path],
        ["second", second],
      ] as const) {
        await until(() => areEven([own.path, second]));
        const stretches = stretchesOf(path);
        const others = stretches.filter((_, i) => (stretches.length - 1 - i) % 2 === 1);
        const { valid, unchecked, text } = await followed(own, device);
        assert.equal(valid, true, text);
        assert.equal(
          unchecked,
          others.reduce((sum, count) => sum + count, 0),
          text,
        );
        await until(() => areEven([own.path, second]));
        const checked = await own.check(...filesOf(path));
        assert.ok([0, 2].includes(checked.code), checked.all);
      }
    }
    await until(() => areEven([own.path, second]));
    assert.ok(filesOf(second).length > 1, "it was rotated");
    assert.deepEqual(
      own.server.lines.filter((line) => line.includes(BROKEN)),
      [],
    );
    const isOwnLast = (stretches: readonly number[], line: number) => {
      let left = line;
      const which = stretches.findIndex((count) => (left -= count) < 0);
      return (stretches.length - 1 - which) % 2 === 0;
    };
    const stretches = stretchesOf(second);
    let line = 0;
    let first = true; // nothing can be said of what is before the first own line
    for (const file of filesOf(second).slice(0, -1)) {
      const content = linesOf(file);
      for (const [i, one] of content.entries()) {
        const isOwn = isOwnLast(stretches, line++);
        if (isOwn) first = false;
        if (first || line % 7 !== 0) continue;
        const changes = [content.toSpliced(i, 1), ...(isOwn ? [content.with(i, edited(one))] : [])];
        for (const change of changes) {
          write(file, change);
          const { valid, text } = await followed(own, "second");
          assert.equal(valid, false, `line ${i + 1} of ${file}: ${text}`);
        }
        write(file, content);
      }
    }
    assert.equal((await followed(own, "second")).valid, true);
  });
}

test("back to the data of before: what the other key wrote and somebody cut off meanwhile is told", async (t) => {
  const own = await audited(t);
  const before = await own.snapshot();
  await own.exchange();
  await own.unseal();
  await own.checkpoint();
  await own.exchange(before);
  const all = parsed(own.path);
  const exchanged = all.findIndex(({ event }) => event === "exchanged");
  write(own.path, linesOf(own.path).slice(0, exchanged));
  await own.unseal(before);
  await own.checkpoint();
  assert.ok(own.server.lines.some((line) => line.includes(BROKEN)));
  assert.match((await own.stage.ask("GET", "sys/attention")).text, /audit\.broken/);
  assert.equal((await own.check()).code, 1);
  const next = parsed(own.path)[exchanged];
  assert.deepEqual([next?.event, next?.number], ["exchanged", all.at(-1)!.number + 1]);
});

interface CheckpointLine extends Line {
  readonly envelope: WireEnvelope;
}

test("a line that calls itself a checkpoint and that no key of the server has signed: no number is taken from it, and it hides nothing", async (t) => {
  for (const [number, sealed] of [
    [1000, false],
    [1000, true],
    [9007199254740991, true],
  ] as const) {
    const own = await audited(t);
    const opened = { token: own.stage.token, shares: own.stage.shares };
    await own.requests();
    const content = linesOf(own.path); // as it lies there when the machine stops at once
    await own.server.crash();
    const last = JSON.parse(content.at(-1)!) as Line;
    const model = JSON.parse(content.findLast((line) => line.includes('"type":"checkpoint"'))!);
    const { envelope, time, type, device } = model as CheckpointLine & Record<string, string>;
    const payload = payloadOf(envelope);
    const result = { ...(payload["result"] as object), last: last.number };
    const made = { ...payload, number, previous: "ab".repeat(32), result };
    const forged = JSON.stringify({
      time,
      type,
      device,
      envelope: { ...envelope, payload: Buffer.from(JSON.stringify(made)).toString("base64") },
      ...(sealed ? { number: last.number + 1, mac: "cd".repeat(32) } : {}),
    });
    write(own.path, [...content.with(-3, edited(content.at(-3)!)), forged]);
    await own.start();
    await own.unseal(opened);
    const broken = own.server.lines.find((line) => line.includes(BROKEN));
    assert.match(broken ?? "", /was changed/);
    await own.checkpoint();
    const numbers = linesOf(own.path)
      .filter((line) => line.includes('"type":"checkpoint"') && line !== forged)
      .map((line) => payloadOf((JSON.parse(line) as CheckpointLine).envelope)["number"] as number);
    assert.ok(Math.max(...numbers) < 10, numbers.join());
    assert.equal((await own.check()).code, 1);
  }
});

test("what a device had stored is put back into data that came back: the process that made the exchange goes by what it holds", async (t) => {
  const own = await audited(t);
  const data = await own.snapshot();
  const stored = ["heads/", "checkpoints/"].flatMap((folder) => [
    ...own.kept.below(`core/audit/${folder}`),
  ]);
  assert.ok(stored.length > 0);
  await own.exchange();
  await own.unseal();
  await own.requests();
  await own.exchange(data);
  const before = parsed(own.path);
  own.kept.write(stored);
  await own.unseal(data);
  await own.requests();
  const next = parsed(own.path)[before.length];
  assert.deepEqual([next?.event, next?.number], ["exchanged", before.length + 1]);
  assert.deepEqual(
    own.server.lines.filter((line) => line.includes(BROKEN)),
    [],
  );
});

test("a device whose file does not open while the data is exchanged: its numbers go on from where they were stored", async (t) => {
  const own = await audited(t);
  const opened = { token: own.stage.token, shares: own.stage.shares };
  await own.server.stop();
  const before = parsed(own.path);
  own.devices = { second: { file_path: join(own.folder, "second.log") } };
  renameSync(own.path, `${own.path}.aside`);
  mkdirSync(own.path);
  await own.start();
  await own.unseal(opened);
  await own.exchange();
  rmdirSync(own.path);
  renameSync(`${own.path}.aside`, own.path);
  await own.unseal();
  await own.checkpoint();
  const next = parsed(own.path)[before.length];
  assert.deepEqual([next?.event, next?.number], ["exchanged", before.length + 1]);
  const checkpoints = parsed(own.path).filter(({ type }) => type === "checkpoint");
  const numbers = checkpoints.map((line) => payloadOf((line as CheckpointLine).envelope)["number"]);
  assert.deepEqual(
    numbers,
    numbers.map((_, i) => i + 1),
  );
  await own.isCalledGood([2]); // nobody knows how the file ended
});
