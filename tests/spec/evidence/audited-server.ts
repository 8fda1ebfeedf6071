// A server with audit files on it whose data is exchanged for that of other keys, there and back.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { MINUTE } from "@holdfast/shared/text/duration";
import { run } from "../../cli/harness.ts";
import { at } from "../../support/http-client.ts";
import { ServerTime } from "../../support/servers/server-time.ts";
import { startServer, type TestServer } from "../../support/servers/test-server.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { KeptGenerations } from "../../support/stores/kept-generations.ts";
import { until } from "../../support/until.ts";
import { EvidenceStage, evidenceStage } from "./evidence-stage.ts";

export interface Line {
  readonly type: string;
  readonly event?: string;
  readonly number: number;
  readonly mac: string;
}

export const BROKEN = "the chain of an audit file is broken";

export const linesOf = (path: string) => readFileSync(path, "utf8").split("\n").slice(0, -1);
export const parsed = (path: string) => linesOf(path).map((line) => JSON.parse(line) as Line);
export const checkpointsIn = (path: string) =>
  parsed(path).filter(({ type }) => type === "checkpoint").length;

/** Data that somebody can unseal. */
export interface OtherData {
  readonly body: Uint8Array;
  readonly token: string;
  readonly shares: readonly string[];
}

/** Options of declared audit devices, by name. */
export type Devices = Readonly<Record<string, Readonly<Record<string, string | number>>>>;

/** A server with declared audit devices, on a disk and with files that outlive it. */
export class AuditedServer {
  readonly kept = new KeptGenerations();
  readonly folder: string;
  readonly path: string;
  readonly time = new ServerTime();
  readonly other: EvidenceStage;
  readonly #t: TestContext;
  server!: TestServer;
  stage!: EvidenceStage;
  #keys = "";
  /** That init has told. */
  fingerprint = "";
  /** Beside `main`. */
  devices: Devices = {};

  constructor(t: TestContext, other: EvidenceStage) {
    this.#t = t;
    this.other = other;
    this.folder = mkdtempSync(join(tmpdir(), "holdfast-carried-audit-"));
    this.path = join(this.folder, "audit.log");
    t.after(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  async start(): Promise<void> {
    const devices = { main: { file_path: this.path }, ...this.devices };
    const file = Object.fromEntries(
      Object.entries(devices).map(([name, options]) => [name, { options }]),
    );
    this.server = await startServer({
      world: { clock: this.time.clock, timers: this.time },
      generations: this.kept,
      settings: { audit: { file } },
    });
    const { server } = this;
    this.#t.after(() => server.stop().catch(() => {}));
  }

  async init(): Promise<void> {
    await this.start();
    this.#on(await this.server.open());
    this.fingerprint = (await this.stage.keys()).fingerprint;
  }

  #on(opened: { readonly token: string; readonly shares: readonly string[] }): void {
    this.stage = new EvidenceStage(this.server, this.time, opened, this.folder);
  }

  /** What is here now, to come back to. */
  async snapshot(): Promise<OtherData> {
    const { token, shares } = this.stage;
    return { ...(await takeSnapshot(this.server.url, token)), token, shares };
  }

  async snapshotOfOther(): Promise<OtherData> {
    const { test, token, shares } = this.other;
    return { ...(await takeSnapshot(test.url, token)), token, shares };
  }

  /** Other data comes in place of what is here, by default that of the other server; sealed. */
  async exchange(data?: OtherData): Promise<void> {
    const { body } = data ?? (await this.snapshotOfOther());
    const { url, server } = this.server;
    const sent = await sendSnapshot(url, this.stage.token, "snapshot-force", body);
    assert.equal(sent.status, 204, sent.text);
    await until(() => server.store.unhashed !== null && server.keeper.sealed);
    await until(async () => (await this.server.call("GET", "/v1/sys/seal-status")).status === 200);
  }

  /** With the shares of the other one, unless it is other data. */
  async unseal(opened: Pick<OtherData, "token" | "shares"> = this.other): Promise<void> {
    await this.server.unseal(opened.shares);
    this.#on(opened);
  }

  async requests(): Promise<void> {
    this.#keys = this.stage.file(await this.stage.keys()); // now: it is recorded as well
    for (let i = 0; i < 3; i++) await this.stage.ask("GET", "sys/mounts");
  }

  /** Requests, and a checkpoint behind them. */
  async checkpoint(): Promise<void> {
    const before = checkpointsIn(this.path);
    await this.requests();
    await this.time.pass(10n * MINUTE); // and no more: a write that is under way must not run out of time
    await until(() => checkpointsIn(this.path) > before);
  }

  async check(...paths: readonly string[]) {
    const files = paths.length === 0 ? [this.path] : paths;
    return run([
      "audit",
      "verify",
      "-keys",
      this.#keys,
      "-fingerprint",
      this.fingerprint,
      ...files,
    ]);
  }

  /** Nobody says that something was changed. */
  async isCalledGood(codes: readonly number[]): Promise<void> {
    const checked = await this.check(); // first: what is asked below is in the file as well
    assert.ok(codes.includes(checked.code), checked.all);
    assert.deepEqual(
      this.server.lines.filter((line) => line.includes(BROKEN)),
      [],
    );
    const { text } = await this.stage.ask("GET", "sys/attention");
    assert.ok(!text.includes("audit.broken"), text);
    const followed = await this.stage.ask("POST", "sys/audit-verify/main");
    assert.equal(at(followed, "data", "valid"), true, followed.text);
    const all = parsed(this.path);
    const exchanged = all.findIndex(({ event }) => event === "exchanged");
    assert.equal(at(followed, "data", "unchecked"), exchanged);
  }
}

export async function audited(t: TestContext, devices: Devices = {}): Promise<AuditedServer> {
  const own = new AuditedServer(t, await evidenceStage(t));
  own.devices = devices;
  await own.init();
  await own.checkpoint();
  return own;
}
