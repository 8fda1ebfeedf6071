// When checkpoints are written, and that a crash, a torn line or a device that fails leaves no byte uncovered.

import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { appendFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { fakeWorld } from "../../../tests/support/fake-world.ts";
import { linesOf, temporary } from "../../../tests/support/made/made-audit.ts";
import { keepsNobodyWaiting } from "../../../tests/support/processor-time.ts";
import { until } from "../../../tests/support/until.ts";
import { AppendError } from "../../base/append-error.ts";
import { freshKey } from "../../crypto/aead.ts";
import { Hmac } from "../../crypto/hmac.ts";
import { checkAuditFiles } from "../../signed/audit-check.ts";
import { readCheckpointLine } from "../../signed/audit-checkpoint.ts";
import {
  envelopeOf,
  fingerprintOf,
  isSignedBy,
  type OpenEnvelope,
  sha256,
  signedBytes,
} from "../../signed/envelope.ts";
import type { KnownKey } from "../../signed/key-list.ts";
import { AUDIT_CHECKPOINT } from "../../signed/kinds.ts";
import { EVIDENCE_TYPE, type Report, reportBytes } from "../../signed/report.ts";
import { SystemAppendFiles } from "../../system/append-file.ts";
import { SystemRandom } from "../../system/random.ts";
import type { AppendFile, AppendFiles } from "@holdfast/shared/world";
import { type CheckpointHead, CHECKPOINT_RECORDS, type SignCheckpoint } from "./checkpoints.ts";
import { type ExchangedChain, FileSource } from "./file.ts";
import { LineBuffer } from "./line-buffer.ts";
import { Chain } from "../records/chain.ts";
import type { ChainHead } from "../../signed/audit-line.ts";
import type { Sink } from "./sink.ts";
import { readUncovered } from "./uncovered-tail.ts";

const MINUTE = 60_000_000_000n;
const chainKey = freshKey(new SystemRandom());
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const fingerprint = fingerprintOf(publicKey);
const known: KnownKey = {
  fingerprint,
  publicKey,
  root: fingerprint,
  until: null,
  made: { number: 1 } as Report,
};
const options = { keys: new Map([[fingerprint, known]]), fingerprint: null };

const signer: SignCheckpoint = async ({ subject, result, inputs, statement }, place) => {
  const report: Report = {
    kind: AUDIT_CHECKPOINT.kind,
    id: "id",
    ...place,
    cluster: { id: "c", name: "c" },
    namespace: { id: "root", path: "" },
    made_at: "2026-01-01T00:00:00Z",
    period: null,
    subject,
    result,
    inputs,
    audit: [],
    log: null,
    software: { name: "holdfast", version: "1" },
    statement,
    not_proven: ["much"],
  };
  const payload = reportBytes(report);
  const sig = sign(null, signedBytes(EVIDENCE_TYPE, payload), privateKey);
  const envelope = envelopeOf(EVIDENCE_TYPE, payload, [{ keyid: fingerprint, sig }]);
  return { digest: sha256(payload), envelope };
};

class Stage {
  readonly path: string;
  readonly world = fakeWorld();
  stored: CheckpointHead | null = null;
  #sink: Sink | null = null;
  #write: Promise<void> = Promise.resolve();
  source: FileSource | null = null;
  /** A chain of another key that was left when the data was exchanged. */
  left: ExchangedChain | null = null;
  /** The end of the chain as it was stored. */
  head: ChainHead | null = null;

  constructor(t: TestContext) {
    this.path = join(temporary(t), "audit.log");
  }

  /** A process that begins. The one before it is gone without a word. */
  async start(files: AppendFiles = new SystemAppendFiles(), signs = signer): Promise<void> {
    this.#sink?.abandon();
    await this.#sink?.close();
    const rotation = { bytes: null, interval: null, keep: null };
    const { path } = this;
    this.source = new FileSource(
      { device: "file/", path, mode: 0o600, rotation, prefix: "", allow: async () => () => {} },
      {
        ...this.world,
        files,
        hmac: new Hmac(chainKey),
        heads: { load: () => this.head, exchanged: () => this.left, save: async () => {} },
        checkpoints: {
          deviceId: "d1",
          sign: signs,
          hasSigned: (envelope) => isSignedBy(envelope, known),
          load: () => this.stored,
          save: async (head) => void (this.stored = head),
          write: (line) => this.write(line),
        },
      },
    );
    this.#sink = await this.source.open();
  }

  /** One at a time, as the queue in front of a device has it. */
  write(...records: string[]): Promise<void> {
    this.#write = this.#write.catch(() => {}).then(() => this.#sink?.write(records));
    return this.#write;
  }

  async stop(): Promise<void> {
    await this.#write.catch(() => {});
    await this.#sink?.close();
  }

  get checkpoints(): number {
    return linesOf(this.path).filter((line) => readCheckpointLine(line) !== null).length;
  }

  findings(): string[] {
    const lines = () =>
      readFileSync(this.path, "latin1")
        .split(/(?<=\n)/)
        .map((line) => Buffer.from(line, "latin1"));
    return checkAuditFiles([{ name: "f", lines }], options)
      .filter(({ state }) => state !== "good")
      .map(({ state, text }) => `${state}: ${text}`);
  }
}

const record = (text: string) => `{"type":"request","text":"${text}"}`;

test("after ten thousand records there is one, and after ten minutes with any; none for a file in which nothing happens", async (t) => {
  const stage = new Stage(t);
  await stage.start();
  const many = Array.from({ length: 100 }, (_, i) => record(String(i)));
  for (let i = 0; i < CHECKPOINT_RECORDS / 100; i++) await stage.write(...many);
  await until(() => stage.stored?.number === 1);
  assert.equal(stage.checkpoints, 1);
  await stage.write(record("more"));
  await stage.world.timers.advance(11n * MINUTE);
  await until(() => stage.checkpoints === 2);
  for (let i = 0; i < 5; i++) await stage.world.timers.advance(11n * MINUTE);
  assert.equal(stage.checkpoints, 2, "a checkpoint alone needs none");
  assert.deepEqual(stage.findings(), []);
  await until(() => stage.stored?.number === 2);
  await stage.stop();
});

test("after a crash what no checkpoint covers is followed and covered by the next", async (t) => {
  const stage = new Stage(t);
  await stage.start();
  await stage.write(record("a"), record("b"));
  await stage.start(); // without a stop
  await stage.write(record("c"));
  await stage.stop();
  assert.deepEqual(stage.findings(), []);
  await stage.start();
  await stage.write(record("d"));
  appendFileSync(stage.path, '{"type":"requ'); // torn by a power cut
  await stage.start();
  await stage.write(record("e"));
  await stage.stop();
  assert.deepEqual(stage.findings(), []);
  assert.equal(stage.source?.broken, null);
});

test("what was edited or cut while nobody was there is told by every checkpoint that follows", async (t) => {
  const stage = new Stage(t);
  await stage.start();
  await stage.write(record("a"), record("b"), record("c"));
  const bytes = readFileSync(stage.path);
  const at = bytes.indexOf('"text":"b"');
  truncateSync(stage.path, 0);
  bytes.write("x", at + 8);
  appendFileSync(stage.path, bytes);
  await stage.start();
  assert.match(stage.source?.broken ?? "", /was changed/);
  await stage.write(record("d"));
  await stage.stop();
  assert.match(stage.findings().join(), /bad: the server itself found: record 3 was changed/);
});

/** The next append writes so many bytes, and fails. */
class FailingFiles extends SystemAppendFiles {
  left: number | null = null;

  override async open(...args: Parameters<SystemAppendFiles["open"]>): Promise<AppendFile> {
    const file = await super.open(...args);
    const append = async (bytes: Uint8Array) => {
      if (this.left === null) return file.append(bytes);
      const written = Math.min(this.left, bytes.length);
      this.left = null;
      await file.append(bytes.subarray(0, written));
      throw new AppendError("full", written);
    };
    const { identity, size, modified } = file;
    const read = file.read.bind(file);
    return { identity, size, modified, append, read, close: () => file.close() };
  }
}

test("a write that fails half-way is covered as it is, and a checkpoint that is not taken comes later", async (t) => {
  const stage = new Stage(t);
  const files = new FailingFiles();
  await stage.start(files);
  await stage.write(record("a"));
  for (const left of [0, 7, 130]) {
    files.left = left;
    await assert.rejects(stage.write(record("b"), record("c")));
    await stage.write(record("d"));
  }
  files.left = 20;
  await stage.world.timers.advance(10n * MINUTE); // the checkpoint is torn
  await until(() => files.left === null);
  assert.equal(stage.checkpoints, 0);
  await stage.write(record("e"));
  await stage.world.timers.advance(2n * MINUTE);
  await until(() => stage.checkpoints === 1);
  await stage.stop();
  assert.deepEqual(stage.findings(), []);
});

test("records are taken while a checkpoint is being signed", async (t) => {
  const stage = new Stage(t);
  const held = Promise.withResolvers<void>();
  await stage.start(new SystemAppendFiles(), async (...args) => {
    await held.promise;
    return signer(...args);
  });
  await stage.write(record("a"));
  await stage.world.timers.advance(11n * MINUTE);
  await stage.write(record("b"));
  await stage.write(record("c"));
  assert.equal(stage.checkpoints, 0);
  held.resolve();
  await until(() => stage.checkpoints === 1);
  await stage.stop();
  assert.deepEqual(stage.findings(), []);
});

test("a copy of the line with which the chain begins hides nothing that stands before it", async (t) => {
  const head = { number: 7, mac: "ab".repeat(32) };
  const left = { head, key: "other", file: "", checkpoint: null, uncovered: null };
  for (const before of [null, left]) {
    const stage = new Stage(t);
    stage.left = before;
    await stage.start();
    await stage.write(record("a"));
    await stage.world.timers.advance(11n * MINUTE);
    await until(() => stage.checkpoints === 1);
    await stage.write(record("b"), record("c"));
    const lines = linesOf(stage.path);
    assert.match(lines[0] ?? "", before === null ? /"started"/ : /"exchanged"/);
    const edited = lines.map((line) => line.replace('"text":"b"', '"text":"x"'));
    writeFileSync(stage.path, [...edited, lines[0]!].map((line) => `${line}\n`).join(""));
    await stage.start();
    assert.match(stage.source?.broken ?? "", /was changed/);
    await stage.stop();
  }
});

test("a line at the end that says the key is another one, where nobody has exchanged anything, is told", async (t) => {
  const stage = new Stage(t);
  await stage.start();
  await stage.write(record("a"));
  await stage.world.timers.advance(11n * MINUTE);
  await until(() => stage.checkpoints === 1);
  await stage.write(record("b"));
  stage.head = stage.source?.head ?? null;
  const lines = new LineBuffer();
  const about = { time: "2026-01-01T00:00:00Z", device: "file/", prefix: "" };
  const other = new Hmac(freshKey(new SystemRandom()));
  new Chain(other, stage.head ?? undefined).sealEvent("exchanged", about, lines);
  appendFileSync(stage.path, lines.bytes);
  await stage.start();
  assert.match(stage.source?.broken ?? "", /is not of this device/);
  await stage.stop();
});

test("lines that somebody has put into a file with names of other devices or chains do not make of changed records missing ones", async (t) => {
  const stage = new Stage(t);
  await stage.start();
  await stage.write(record("a"), record("b"), record("c"));
  await stage.world.timers.advance(11n * MINUTE);
  await until(() => stage.checkpoints === 1);
  await stage.write(record("d"));
  await stage.stop();
  const lines = linesOf(stage.path);
  const made = (event: string, device: string, number: number) =>
    `{"type":"chain","event":"${event}","device":"${device}","previous":{"number":${number - 1},"mac":""},` +
    `"number":${number},"mac":"${"cd".repeat(32)}"}`;
  const edited = lines.map((line) => line.replace('"text":"b"', '"text":"x"'));
  const end = lines.findIndex((line) => readCheckpointLine(line) !== null);
  for (const content of [
    lines.with(1, made("continued", "other/", 2)),
    edited.toSpliced(end, 0, made("started", "file/", 1)),
    edited.toSpliced(end, 0, made("started", "other/", 1)),
  ]) {
    writeFileSync(stage.path, content.map((line) => `${line}\n`).join(""));
    assert.match(stage.findings().join(), /bad: /);
  }
});

test("a file that is full of what only looks like checkpoints keeps nobody waiting when it is opened", async () => {
  const envelope = envelopeOf(EVIDENCE_TYPE, Buffer.from("{}"), []);
  const { envelope: signed } = await signer(
    {
      subject: { device: "file/" },
      result: { state: "intact", first: 1, last: 1, bytes: 1 },
      inputs: [{ name: "bytes", digest: "ab".repeat(32) }],
      statement: "none",
      period: { from: 0n, to: 0n },
    },
    { number: 1, previous: null },
  );
  const sig = Buffer.alloc(64).toString("base64");
  const forged = { ...signed, signatures: [{ keyid: fingerprint, sig }] };
  const end = `"number":2,"mac":"${"cd".repeat(32)}"}`;
  const line = `{"type":"checkpoint","device":"file/","envelope":${JSON.stringify(forged)},${end}\n`;
  const marks = `{"a":[${'{"type":"checkpoint"},'.repeat(11_000)}${JSON.stringify(envelope)}],${end}\n`;
  for (const content of [line.repeat(1000), marks]) {
    const bytes = Buffer.from(content);
    const file = {
      size: bytes.length,
      read: async (at: number, length: number) => bytes.subarray(at, at + length),
    };
    const { timers } = fakeWorld();
    const hasSigned = (one: OpenEnvelope) => isSignedBy(one, known);
    const own = { hmac: new Hmac(chainKey), hasSigned, timers, isKnown: true };
    await keepsNobodyWaiting("looking for a checkpoint", async () => {
      assert.equal((await readUncovered(file, own))?.checkpoint, null);
    });
  }
});
