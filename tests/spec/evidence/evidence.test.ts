// Evidence through HTTP and the command line: its form, its keys, and that nothing of it can be changed unnoticed.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import test from "node:test";
import { DAY } from "@holdfast/shared/text/duration";
import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import { canonicalJson } from "../../../src/signed/canonical-json.ts";
import { openEnvelope, signedBytes } from "../../../src/signed/envelope.ts";
import { checkEvidence, checkOne } from "../../../src/signed/evidence-check.ts";
import { readEvidenceFile } from "../../../src/signed/evidence-file.ts";
import { readKeyList } from "../../../src/signed/key-list.ts";
import * as kinds from "../../../src/signed/kinds.ts";
import { EVIDENCE_TYPE, readReport } from "../../../src/signed/report.ts";
import { run } from "../../cli/harness.ts";
import { at } from "../../support/http-client.ts";
import { evidenceStage, lines, payloadOf, verify, type WireEnvelope } from "./evidence-stage.ts";

const MEMBERS =
  "audit cluster id inputs kind log made_at namespace not_proven number period previous result software statement subject".split(
    " ",
  );

test("a report has every member, in canonical JSON, and is signed by the key that init has named", async (t) => {
  const stage = await evidenceStage(t);
  const number = await stage.sign();
  assert.equal(number, 2); // the first named the key
  const envelope = await stage.envelope(number);
  const report = payloadOf(envelope);
  assert.deepEqual(Object.keys(report), MEMBERS);
  assert.equal(Buffer.from(envelope.payload, "base64").toString(), canonicalJson(report));
  const before = Buffer.from((await stage.envelope(1)).payload, "base64");
  assert.equal(report["previous"], createHash("sha256").update(before).digest("hex"));
  const status = await stage.test.call("GET", "/v1/sys/seal-status");
  const key = at(status, "evidence_key");
  assert.equal(envelope.signatures[0]?.keyid, key);
  assert.equal((await stage.keys()).fingerprint, key);
  const log = report["log"] as JsonObject;
  assert.ok(
    Number(log["index"]) > 0 && /^[0-9a-f]{64}$/.test(JSON.stringify(log["chain"]).slice(1, -1)),
  );
});

test("init and status print the fingerprint; a sealed node does not tell it", async (t) => {
  const stage = await evidenceStage(t);
  const args = ["-address", stage.test.url];
  const { stdout } = await run(["status", ...args]);
  const key = (await stage.keys()).fingerprint;
  assert.ok(stdout.includes(`Evidence Key`) && stdout.includes(key));
  await stage.ask("PUT", "sys/seal");
  const sealed = await stage.test.call("GET", "/v1/sys/seal-status");
  assert.equal(at(sealed, "evidence_key"), undefined);
});

test("the list is of the namespace, goes on after a number, and what is not there is not found", async (t) => {
  const stage = await evidenceStage(t);
  await stage.sign();
  await stage.sign();
  const listed = await stage.ask("LIST", "sys/evidence?after=1&limit=1");
  const [id = ""] = at(listed, "data", "keys") as string[];
  assert.equal(at(listed, "data", "key_info", id, "number"), 2);
  assert.equal(at(await stage.ask("GET", `sys/evidence/${id}`), "data", "number"), 2);
  await stage.ask("POST", "sys/namespaces/team");
  const { token } = stage;
  const inside = { token, headers: { "X-Service-Namespace": "team" } };
  const foreign = await stage.test.call("GET", `/v1/sys/evidence/${id}`, inside);
  assert.equal(foreign.status, 404);
  assert.equal((await stage.test.call("LIST", "/v1/sys/evidence", inside)).status, 404);
  assert.equal((await stage.test.call("GET", "/v1/sys/evidence/99", { token })).status, 404);
  assert.equal((await stage.test.call("GET", `/v1/sys/evidence/${id}`)).status, 403);
  const odd = await stage.test.call("LIST", "/v1/sys/evidence?after=nothing", { token });
  assert.equal(odd.status, 400);
});

test("PV48: every byte that is changed, and everything reordered or cut, is found", async (t) => {
  const stage = await evidenceStage(t);
  await stage.sign();
  await stage.sign({ more: "x" });
  const all = await stage.envelopes(1, 3);
  const keys = stage.file(await stage.keys());
  const good = await verify("-keys", keys, stage.file(lines(all)));
  assert.equal(good.code, 0, good.all);

  const [, second] = all;
  const bytes = Buffer.from(JSON.stringify(second));
  const list = readKeyList((await stage.keys()) as unknown as JsonValue);
  const isBad = (changed: Buffer): boolean => {
    const { envelopes, problems, unreadable } = readEvidenceFile(changed.toString("utf8"));
    const { findings } = checkEvidence(envelopes, { keys: list.keys, fingerprint: null });
    return problems.length + unreadable.length > 0 || findings.some(({ state }) => state === "bad");
  };
  assert.ok(!isBad(bytes));
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes);
    changed[i]! ^= 1;
    assert.ok(isBad(changed), `byte ${i}`);
    assert.ok(isBad(bytes.subarray(0, i)), `cut to ${i}`);
  }
  bytes[700]! ^= 1;
  assert.equal((await verify("-keys", keys, stage.file(bytes.toString()))).code, 1);
  // One is missing in the middle: nothing is wrong with the others, and it is not all.
  const [first, , third] = all;
  const gap = await verify("-keys", keys, stage.file(lines([first!, third!])));
  assert.equal(gap.code, 2, gap.all);
  assert.match(gap.stdout, /2 is not there/);
  const turned = await verify("-keys", keys, stage.file(lines(all.toReversed())));
  assert.equal(turned.code, 1, turned.all);
  assert.match(turned.stdout, /evidence 2 .*it is out of order: it stands after 3/);
  const twice = await verify("-keys", keys, stage.file(lines([...all, second!])));
  assert.equal(twice.code, 1, twice.all);
  assert.match(twice.stdout, /evidence 2 .*it is there more than once/);
  // Signatures exchanged between two reports.
  const swapped = [
    { ...all[1]!, signatures: all[2]!.signatures },
    { ...all[2]!, signatures: all[1]!.signatures },
  ];
  assert.equal((await verify("-keys", keys, stage.file(lines(swapped)))).code, 1);
});

test("reports one after another are read however they are laid out; what cannot be read is not called forged", async (t) => {
  const stage = await evidenceStage(t);
  await stage.sign({ more: 'a "} in a string' });
  await stage.sign();
  const keys = stage.file(await stage.keys());
  const env = { HOLDFAST_ADDR: stage.test.url, HOLDFAST_TOKEN: stage.token };
  const printed: string[] = [];
  for (const number of ["1", "2", "3"]) {
    const read = await run(["evidence", "read", "-format", "json", number], { env });
    assert.equal(read.code, 0, read.all);
    printed.push(read.stdout);
  }
  const [first, second, third] = printed;
  assert.ok(first!.trim().includes("\n"), "it is printed over many lines");
  for (const text of [
    printed.join(""),
    printed.map((one) => one.trim()).join(" "),
    `[${printed.join(",\n")}]`,
  ]) {
    const checked = await verify("-keys", keys, stage.file(text));
    assert.equal(checked.code, 0, checked.all);
    assert.match(checked.stdout, /evidence 3/);
  }
  // Cut in the middle, and what comes after is read all the same.
  const cut = await verify("-keys", keys, stage.file(`${first}${second!.slice(0, 300)}\n${third}`));
  assert.equal(cut.code, 2, cut.all);
  assert.match(cut.stdout, /what begins in line \d+ cannot be read/);
  assert.match(cut.stdout, /evidence 3 .*2 is not there/);
  for (const text of ["", "}{", "no evidence", "[".repeat(100_000)]) {
    const checked = await verify("-keys", keys, stage.file(text));
    assert.equal(checked.code, 2, checked.all);
  }
});

test("PV48: whoever has no key of the server cannot add a report, whatever keys come with it", async (t) => {
  const stage = await evidenceStage(t);
  const real = payloadOf(await stage.envelope(1));
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const der = publicKey.export({ format: "der", type: "spki" });
  const keyid = createHash("sha256").update(der).digest("hex");
  const envelopeOf = (report: JsonObject): WireEnvelope => {
    const payload = Buffer.from(canonicalJson(report));
    const sig = sign(null, signedBytes(EVIDENCE_TYPE, payload), privateKey).toString("base64");
    const signatures = [{ keyid, sig }];
    return { payload: payload.toString("base64"), payloadType: EVIDENCE_TYPE, signatures };
  };
  const forged = envelopeOf({ ...real, subject: { fingerprint: keyid } });
  const public_key = publicKey.export({ format: "pem", type: "spki" });
  const own = { fingerprint: keyid, keys: [{ fingerprint: keyid, public_key, statement: forged }] };
  const file = stage.file(forged);
  const served = await stage.keys();
  const keys = stage.file(served);
  assert.equal((await verify("-keys", keys, file)).code, 1);
  // With the forger's own list it looks good, but not to somebody who has noted the fingerprint.
  assert.equal((await verify("-keys", stage.file(own), file)).code, 0);
  const pinned = served.fingerprint;
  const checked = await verify("-keys", stage.file(own), "-fingerprint", pinned, file);
  assert.equal(checked.code, 1, checked.all);
  // The forger's key beside the real ones: nothing links it with them.
  const both = { ...served, keys: [...served.keys, own.keys[0]!] };
  const mixed = await verify("-keys", stage.file(both), "-fingerprint", pinned, file);
  assert.equal(mixed.code, 1, mixed.all);
  // Keys that come with the reports vouch for nothing by themselves.
  const together = stage.file(`${JSON.stringify(served)}\n${lines([await stage.envelope(1)])}`);
  assert.equal((await verify(together)).code, 2);
  assert.equal((await verify("-fingerprint", pinned.toUpperCase(), together)).code, 0);
  assert.equal((await verify(stage.file(await stage.envelope(1)))).code, 2, "no keys at all");
});

test("PV49: openssl and a few lines find the signature good, and a changed one bad", async (t) => {
  const stage = await evidenceStage(t);
  const { payload, payloadType, signatures } = await stage.envelope(await stage.sign());
  const listed = (await stage.keys()).keys;
  const bytes = Buffer.from(payload, "base64");
  const check = (body: Buffer): string => {
    const head = `DSSEv1 ${payloadType.length} ${payloadType} ${body.length} `;
    writeFileSync(join(stage.folder, "signed"), Buffer.concat([Buffer.from(head), body]));
    writeFileSync(join(stage.folder, "key.pem"), listed[0]!.public_key);
    writeFileSync(join(stage.folder, "sig"), Buffer.from(signatures[0]!.sig, "base64"));
    const args = "pkeyutl -verify -pubin -inkey key.pem -rawin -in signed -sigfile sig".split(" ");
    return execFileSync("openssl", args, { cwd: stage.folder, encoding: "utf8", stdio: "pipe" });
  };
  assert.match(check(bytes), /Signature Verified Successfully/);
  bytes[10]! ^= 1;
  assert.throws(() => check(bytes));
  const der = execFileSync("openssl", ["pkey", "-pubin", "-in", "key.pem", "-outform", "DER"], {
    cwd: stage.folder,
  });
  assert.equal(createHash("sha256").update(der).digest("hex"), signatures[0]!.keyid);
});

test("PV49: forty lines that share nothing with the server follow numbers, links and keys over a rotation", async (t) => {
  const stage = await evidenceStage(t);
  await stage.sign();
  await stage.pass(366n * DAY);
  await stage.sign();
  const listed = (await stage.keys()).keys;
  const all = await stage.envelopes(1, 4);
  const file = (name: string, content: string | Buffer) => {
    writeFileSync(join(stage.folder, name), content);
    return name;
  };
  const isSigned = (envelope: WireEnvelope, { fingerprint, public_key }: (typeof listed)[0]) => {
    const found = envelope.signatures.find(({ keyid }) => keyid === fingerprint);
    if (found === undefined) return false;
    const { payload, payloadType: type } = envelope;
    const body = Buffer.from(payload, "base64");
    const head = Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${body.length} `);
    const args = ["pkeyutl", "-verify", "-pubin", "-rawin"];
    args.push("-inkey", file("second.pem", public_key));
    args.push("-in", file("second.bin", Buffer.concat([head, body])));
    args.push("-sigfile", file("second.sig", Buffer.from(found.sig, "base64")));
    return spawnSync("openssl", args, { cwd: stage.folder }).status === 0;
  };
  const digestOf = ({ payload }: WireEnvelope) =>
    createHash("sha256").update(Buffer.from(payload, "base64")).digest("hex");
  /** What is wrong, by a reading of the format alone. */
  const problems = (envelopes: readonly WireEnvelope[], keys: typeof listed): string[] => {
    const found: string[] = [];
    for (const [i, key] of keys.entries()) {
      const { result } = payloadOf(key.statement) as { result: { previous_key: string | null } };
      if (!isSigned(key.statement, key)) found.push(`key ${i} does not vouch for itself`);
      const before = keys[i - 1];
      const isLinked = before === undefined || isSigned(key.statement, before);
      if (!isLinked || result.previous_key !== (before?.fingerprint ?? null)) {
        found.push(`key ${i} is not linked`);
      }
    }
    for (const [i, envelope] of envelopes.entries()) {
      const { number, previous } = payloadOf(envelope) as { number: number; previous: string };
      if (!keys.some((key) => isSigned(envelope, key))) found.push(`${number} is not signed`);
      if (number !== i + 1) found.push(`${number} is out of place`);
      const before = envelopes[i - 1];
      if (previous !== (before === undefined ? null : digestOf(before))) {
        found.push(`${number} names another`);
      }
    }
    return found;
  };
  assert.deepEqual(problems(all, listed), []);
  const [one, two, three, four] = all as [WireEnvelope, WireEnvelope, WireEnvelope, WireEnvelope];
  const flipped = Buffer.from(two.payload, "base64");
  flipped[flipped.length >> 1]! ^= 1;
  const forged = { ...two, payload: flipped.toString("base64") };
  assert.ok(problems([one, forged, three, four], listed).includes("3 names another"));
  assert.ok(problems([one, three, four], listed).length > 0);
  assert.deepEqual(problems(all, listed.slice(0, 1)), ["4 is not signed"]);
});

test("PV50: another type with the same bytes and signature is refused, and a checkpoint is no report", async (t) => {
  const stage = await evidenceStage(t);
  const keys = stage.file(await stage.keys());
  const envelope = await stage.envelope(await stage.sign());
  const renamed = stage.file({ ...envelope, payloadType: `${EVIDENCE_TYPE}x` });
  assert.equal((await verify("-keys", keys, renamed)).code, 1);
  const checkpoint = await stage.test.server.evidence.signApart(
    { kind: kinds.AUDIT_CHECKPOINT, subject: {}, result: { state: "intact" }, statement: "s" },
    { number: 3, previous: "ab".repeat(32) },
  );
  const checked = await verify("-keys", keys, stage.file(checkpoint.envelope));
  assert.equal(checked.code, 1);
  assert.match(checked.stdout, /audit verify/);
  // A report that names a key is no key, and the other way round.
  const served = await stage.keys();
  const [first] = served.keys;
  const other = { ...served, keys: [{ ...first, statement: envelope }] };
  assert.equal((await verify("-keys", stage.file(other), stage.file(envelope))).code, 1);
});

test("PV51: after rotations old evidence still verifies, from any key that somebody has noted", async (t) => {
  const stage = await evidenceStage(t);
  await stage.sign();
  const first = (await stage.keys()).fingerprint;
  const secrets = () =>
    stage.test.server.store.keys("core/evidence/secrets/", { limit: 10 }).map(String);
  assert.deepEqual(secrets(), [`core/evidence/secrets/${first}`]);
  await stage.pass(364n * DAY);
  assert.equal((await stage.keys()).fingerprint, first);
  await stage.pass(DAY);
  const second = (await stage.keys()).fingerprint;
  assert.notEqual(second, first);
  assert.deepEqual(secrets(), [`core/evidence/secrets/${second}`], "the old half is gone");
  await stage.sign();
  const old = await stage.envelopes(1, 4);
  await stage.pass(366n * DAY);
  await stage.sign();
  const served = await stage.keys();
  assert.equal(served.keys.length, 3);
  const keys = stage.file(served);
  const file = stage.file(lines([...old, ...(await stage.envelopes(5, 6))]));
  for (const pin of [first, second, served.fingerprint]) {
    const checked = await verify("-keys", keys, "-fingerprint", pin, file);
    assert.equal(checked.code, 0, checked.all);
  }
  // A key that the one before it has not signed for, and one that is left out.
  const [a, b, c] = served.keys;
  const [one] = b!.statement.signatures.filter(({ keyid }) => keyid === second);
  const alone = { ...b, statement: { ...b!.statement, signatures: [one] } };
  for (const list of [
    [a, alone, c],
    [a, c],
    [b, c],
  ]) {
    const checked = await verify("-keys", stage.file({ ...served, keys: list }), file);
    assert.equal(checked.code, 1, checked.all);
  }
});

test("PV51: what an old key signs after the one that followed it is refused", async (t) => {
  const stage = await evidenceStage(t);
  const number = await stage.sign();
  const { keys } = readKeyList((await stage.keys()) as unknown as JsonObject);
  const envelope = openEnvelope((await stage.envelope(number)) as unknown as JsonObject);
  assert.ok(envelope !== null);
  const checked = (until: number | null) => {
    const aged = new Map(Array.from(keys, ([name, key]) => [name, { ...key, until }]));
    return checkOne(envelope, { keys: aged, fingerprint: null });
  };
  for (const until of [null, number, number + 1]) assert.notEqual(typeof checked(until), "string");
  assert.equal(checked(number - 1), "its key was gone by then");
});

test("PV51: a key whose private half is lost begins anew, and says so", async (t) => {
  const stage = await evidenceStage(t);
  await stage.sign();
  const first = (await stage.keys()).fingerprint;
  const { server } = stage.test;
  await server.store.write((tx) => tx.delete(`core/evidence/secrets/${first}`, new Uint8Array(16)));
  await stage.ask("PUT", "sys/seal");
  await stage.test.unseal(stage.shares);
  const served = await stage.keys();
  const [, second] = served.keys;
  const made = payloadOf(second!.statement);
  assert.equal((made["result"] as JsonObject)["state"], "broken");
  const keys = stage.file(served);
  const file = stage.file(lines(await stage.envelopes(1, 3)));
  assert.equal((await verify("-keys", keys, file)).code, 0);
  const pinned = await verify("-keys", keys, "-fingerprint", first, file);
  assert.equal(pinned.code, 1, "nothing links the new key with the one that was noted");
  const printed = await run(["evidence", "keys"], { env: { HOLDFAST_ADDR: stage.test.url } });
  assert.match(printed.all, new RegExp(`${first} .* retired +first`));
  assert.match(printed.all, new RegExp(`${second!.fingerprint} .* signs +broken`));
});

test("PV51: a store without any key begins with one, and says that nothing leads to those before", async (t) => {
  const stage = await evidenceStage(t);
  const { store } = stage.test.server;
  const first = (await stage.keys()).fingerprint;
  const rows = store.keys("core/evidence/", { limit: 100 }).map(String);
  await store.write((tx) => rows.forEach((key) => tx.delete(key, new Uint8Array(16))));
  await stage.ask("PUT", "sys/seal");
  await stage.test.unseal(stage.shares);
  const { keys, fingerprint } = await stage.keys();
  assert.equal(keys.length, 1);
  assert.notEqual(fingerprint, first);
  const made = payloadOf(keys[0]!.statement);
  assert.equal((made["result"] as JsonObject)["state"], "begun");
  assert.match(JSON.stringify(made["not_proven"]), /any link/);
});

test("PV54: no report and no kind is without something that it does not prove", async (t) => {
  const { NEVER_PROVEN, REPORT_KINDS, ...each } = kinds;
  const declared: readonly kinds.ReportKind[] = Object.values(each);
  assert.deepEqual(new Set(REPORT_KINDS), new Set(declared), "every kind is in the list");
  for (const { kind, notProven } of REPORT_KINDS) {
    assert.ok(notProven.length > 0, kind);
    assert.ok(
      notProven.every((text) => text.trim() !== ""),
      kind,
    );
  }
  assert.ok(NEVER_PROVEN.length > 0);
  const stage = await evidenceStage(t);
  const report = payloadOf(await stage.envelope(await stage.sign()));
  const bytes = (value: JsonObject) => Buffer.from(canonicalJson(value));
  assert.ok(readReport(bytes(report)) !== null);
  for (const not_proven of [[], [""], [" "], null, "nothing", undefined]) {
    assert.equal(readReport(bytes({ ...report, not_proven })), null);
  }
});

test("what is old is dropped, and its digest stays; numbers go on", async (t) => {
  const stage = await evidenceStage(t);
  await stage.sign();
  const digest = at(await stage.ask("GET", "sys/evidence/2"), "data", "digest");
  await stage.pass(401n * DAY); // the key was rotated besides: number 3
  const gone = await stage.test.call("GET", "/v1/sys/evidence/2", { token: stage.token });
  assert.equal(gone.status, 404);
  assert.ok(gone.text.includes(String(digest)), gone.text);
  assert.equal(await stage.sign(), 4);
  assert.equal(
    (
      await verify(
        "-keys",
        stage.file(await stage.keys()),
        stage.file(lines(await stage.envelopes(3, 4))),
      )
    ).code,
    0,
  );
});
