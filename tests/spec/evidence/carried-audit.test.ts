// A snapshot of other keys takes the place of the data: audit files go on, and what is in them is neither called changed
// while nobody has changed it, nor good when somebody has.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { MINUTE } from "@holdfast/shared/text/duration";
import { run } from "../../cli/harness.ts";
import { at } from "../../support/http-client.ts";
import { CLEAR } from "../../support/stores/kept-generations.ts";
import { until } from "../../support/until.ts";
import { audited, BROKEN, checkpointsIn, linesOf, parsed } from "./audited-server.ts";
import { evidenceStage, lines, payloadOf, verify, type WireEnvelope } from "./evidence-stage.ts";
import { ForgedSet } from "./forged-set.ts";

test("a restore with other keys: the chain of an audit file goes on and says that its key is another one; it is good as it is, and every change shows", async (t) => {
  const own = await audited(t);
  await own.exchange();
  const before = parsed(own.path);
  assert.equal(before.at(-1)?.type, "checkpoint");
  await own.unseal();
  const exchanged = parsed(own.path)[before.length];
  assert.deepEqual([exchanged?.event, exchanged?.number], ["exchanged", before.length + 1]);
  await own.checkpoint();
  await own.isCalledGood([0]);

  // The report that names the next key is placed among the records of the old one.
  const [, handover] = await own.stage.envelopes(1, 2);
  const report = await own.stage.ask("GET", "sys/evidence/2");
  const { number, mac } = before.at(-1)!;
  assert.deepEqual(at(report, "data", "report", "audit"), [
    { device: "main/", number, digest: mac },
  ]);
  const keys = own.stage.file(await own.stage.keys());
  const logs = mkdtempSync(join(own.folder, "logs-"));
  writeFileSync(
    join(logs, "audit.log"),
    linesOf(own.path)
      .map((line) => `${line}\n`)
      .join(""),
  );
  const file = own.stage.file(lines([await own.stage.envelope(1), handover!]));
  const placed = await verify("-keys", keys, "-audit", logs, file);
  assert.match(placed.all, new RegExp(`good +audit record main/ ${number} `));
  assert.equal(placed.code, 2, placed.all); // the end has no checkpoint yet

  const all = linesOf(own.path);
  const last = parsed(own.path).findLastIndex(({ type }) => type === "checkpoint");
  const changed = join(own.folder, "changed.log");
  const isFound = async (content: readonly string[], what: string) => {
    writeFileSync(changed, content.map((line) => `${line}\n`).join(""));
    const { code, all: said } = await own.check(changed);
    assert.equal(code, 1, `${what}: ${said}`);
  };
  for (let i = 0; i < last; i++) {
    await isFound(all.with(i, all[i]!.replace('"time":"20', '"time":"21')), `line ${i + 1} edited`);
    await isFound(all.toSpliced(i, 1), `line ${i + 1} cut out`);
  }

  await own.stage.ask("POST", "sys/seal");
  await own.unseal();
  await own.isCalledGood([0, 2]);
  assert.equal(parsed(own.path).filter(({ event }) => event === "exchanged").length, 1);
});

test("a restore with other keys: what is changed in an audit file before somebody unseals is told by the server itself", async (t) => {
  const changes: readonly ((all: string[]) => string[])[] = [
    (all) => all.slice(0, -1),
    (all) => all.with(-1, all.at(-1)!.replace('"time":"20', '"time":"21')),
    (all) => [...all, all.at(-1)!],
    (all) => all.toSpliced(-1, 0, "{}"),
  ];
  for (const change of changes) {
    const own = await audited(t);
    await own.exchange();
    const content = change(linesOf(own.path));
    writeFileSync(own.path, content.map((line) => `${line}\n`).join(""));
    await own.unseal();
    await own.checkpoint();
    assert.ok(own.server.lines.some((line) => line.includes(BROKEN)));
    assert.match((await own.stage.ask("GET", "sys/attention")).text, /audit\.broken/);
    const checked = await own.check();
    assert.equal(checked.code, 1, checked.all);
    assert.match(checked.all, /does not end as it was left/);
  }
});

for (const restarts of [false, true]) {
  const when = restarts ? ", and a restart before anybody unseals" : "";
  test(`a restore with other keys: a crash before the first checkpoint of the new key${when}: nothing is called changed`, async (t) => {
    const own = await audited(t);
    await own.exchange();
    if (restarts) {
      await own.server.crash();
      await own.start();
    }
    await own.unseal();
    await own.requests();
    // As it lies there when the machine stops at once: nothing is written behind it.
    const content = readFileSync(own.path);
    await own.server.crash();
    writeFileSync(own.path, content);
    await own.start();
    await own.unseal();
    await own.checkpoint();
    const events = parsed(own.path).flatMap(({ event }) => event ?? []);
    // After a restart nobody vouches for the end of the chain.
    assert.deepEqual(events.slice(-2), [restarts ? "started" : "exchanged", "continued"]);
    assert.deepEqual(
      own.server.lines.filter((line) => line.includes(BROKEN)),
      [],
    );
    const keys = own.stage.file(await own.stage.keys());
    const checked = await run(["audit", "verify", "-keys", keys, own.path]);
    assert.ok([0, 2].includes(checked.code), checked.all);
  });
}

test("a restore with other keys and a restart: neither the end of a chain that lies there nor a checkpoint of a key that does is gone on from", async (t) => {
  const own = await audited(t);
  await own.exchange();
  await own.server.crash();
  const chain = {
    head: { number: 90_000_000_000_000, mac: "no mac" },
    key: "another",
    file: own.path,
    checkpoint: { number: 90_000_000_000_000, last: 1, digest: "none" },
    uncovered: null,
  };
  const forged = new ForgedSet({ more: [["audit/main", JSON.stringify(chain)]] });
  own.kept.replaceClear(forged.rows.map(([key, value]) => ({ key: CLEAR + key, value })));
  const all = linesOf(own.path);
  const last = all.findLast((line) => line.includes('"type":"checkpoint"'));
  const line = JSON.parse(last!) as { readonly envelope: WireEnvelope };
  const far = { ...payloadOf(line.envelope), number: 999_999_999_998 };
  const envelope = forged.sign(Buffer.from(JSON.stringify(far)));
  const put = JSON.stringify({ ...line, envelope });
  writeFileSync(own.path, [...all, put].map((one) => `${one}\n`).join(""));
  await own.start();
  await own.unseal();
  await own.checkpoint();
  await own.checkpoint();
  const later = parsed(own.path).slice(all.length + 1);
  assert.deepEqual([later[0]?.event, later[0]?.number], ["started", 1]);
  const numbers = linesOf(own.path)
    .slice(all.length + 1)
    .filter((one) => one.includes('"type":"checkpoint"'))
    .map((one) => payloadOf((JSON.parse(one) as typeof line).envelope)["number"]);
  assert.deepEqual(numbers, [1, 2]);
  assert.equal(at(await own.stage.ask("POST", "sys/audit-verify/main"), "data", "valid"), true);
});

test("a restore with other keys whose evidence was changed on the way: the chain of an audit file starts anew, and the old one is not called changed", async (t) => {
  for (const victim of ["rows/audit/main", "letter"]) {
    const own = await audited(t);
    const keys = own.stage.file(await own.stage.keys());
    await own.exchange();
    own.kept.change(CLEAR + victim);
    await own.unseal();
    await own.checkpoint();
    await own.checkpoint();
    assert.deepEqual(
      own.server.lines.filter((line) => line.includes(BROKEN)),
      [],
    );
    assert.equal(at(await own.stage.ask("POST", "sys/audit-verify/main"), "data", "valid"), true);
    const both = { ...(await own.stage.keys()) };
    const old = JSON.parse(readFileSync(keys, "utf8")) as typeof both;
    const missing = old.keys.filter(({ fingerprint }) =>
      both.keys.every((one) => one.fingerprint !== fingerprint),
    );
    const all = own.stage.file({ ...both, keys: [...missing, ...both.keys] });
    const checked = await run(["audit", "verify", "-keys", all, own.path]);
    assert.doesNotMatch(checked.all, /not the bytes|not as they were|was changed|out of order/);
  }
});

test("an audit device that is removed and made again with the same file: neither of the two chains is called changed, and changes of both show", async (t) => {
  const stage = await evidenceStage(t);
  const path = join(stage.test.auditDirectory, "audit.log");
  const body = { type: "file", options: { file_path: path } };
  const checkpoint = async () => {
    const before = checkpointsIn(path);
    for (let i = 0; i < 4; i++) await stage.ask("GET", "sys/mounts");
    await stage.time.pass(10n * MINUTE); // and no more: a write that is under way must not run out of time
    await until(() => checkpointsIn(path) > before);
  };
  await stage.ask("POST", "sys/audit/file", body);
  await checkpoint();
  await stage.ask("DELETE", "sys/audit/file");
  await stage.ask("POST", "sys/audit/file", body);
  await checkpoint();
  await checkpoint();
  assert.deepEqual(
    stage.test.lines.filter((line) => line.includes(BROKEN)),
    [],
  );
  assert.equal(at(await stage.ask("POST", "sys/audit-verify/file"), "data", "valid"), true);
  const keys = stage.file(await stage.keys());
  const good = await run(["audit", "verify", "-keys", keys, path]);
  assert.ok([0, 2].includes(good.code), good.all);
  const all = linesOf(path);
  const changed = join(stage.folder, "changed.log");
  const last = parsed(path).findLastIndex(({ type }) => type === "checkpoint");
  for (const i of [1, 3, last - 1]) {
    const content = all.with(i, all[i]!.replace('"time":"20', '"time":"21'));
    writeFileSync(changed, content.map((line) => `${line}\n`).join(""));
    const { code, all: said } = await run(["audit", "verify", "-keys", keys, changed]);
    assert.equal(code, 1, `line ${i + 1}: ${said}`);
  }
});
