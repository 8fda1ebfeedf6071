// A server whose data was exchanged for a snapshot of other keys.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { at } from "../../support/http-client.ts";
import { type EngineServer, engineServer } from "../../support/servers/engine-server.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { KeptGenerations } from "../../support/stores/kept-generations.ts";
import { until } from "../../support/until.ts";
import { EvidenceStage, lines, payloadOf, verify, type WireEnvelope } from "./evidence-stage.ts";

export const COUNTS = "core/carried-counts";
/** Reports before the exchange. */
export const BEFORE = 5;
/** Of the report that ends them. */
export const LETTER = BEFORE + 1;
/** Leases that go along, and one whose mount the snapshot has not. */
export const [WAITING, LEFT] = [2, 1];

export class Exchanged {
  readonly kept = new KeptGenerations();
  readonly folder = mkdtempSync(join(tmpdir(), "holdfast-tampering-"));
  readonly server: EngineServer;
  before: readonly WireEnvelope[] = [];
  snapshot: Buffer = Buffer.alloc(0);
  /** A lease that the snapshot has. */
  known = "";
  /** Another one, which has ended since. */
  ended = "";

  private constructor(server: EngineServer, kept: KeptGenerations) {
    this.server = server;
    this.kept = kept;
  }

  /** A server whose data was exchanged for a snapshot from before a rekey; it is sealed. */
  static async make(t: TestContext): Promise<Exchanged> {
    const own = await Exchanged.running(t);
    await own.exchange();
    return own;
  }

  static async running(t: TestContext): Promise<Exchanged> {
    const kept = new KeptGenerations();
    const server = await engineServer(t, { generations: kept });
    const own = new Exchanged(server, kept);
    t.after(() => rmSync(own.folder, { recursive: true, force: true }));
    await server.counting("count", { ttl: 3600 });
    own.known = (await server.issue()).id;
    own.ended = (await server.issue()).id;
    own.snapshot = (await takeSnapshot(server.test.url, server.root)).body;
    await server.revoke(own.ended, { sync: true });
    for (let i = 1; i < BEFORE; i++) await own.stage.sign({ i });
    own.before = await own.stage.envelopes(1, BEFORE);
    await own.goOn();
    return own;
  }

  /** What the snapshot does not know, and a rekey: then it is one of other keys. */
  async goOn(): Promise<void> {
    const { server } = this;
    for (let i = 0; i < WAITING; i++) await server.issue();
    await server.counting("newer");
    await server.issue("newer/creds/r");
    const once = { secret_shares: 1, secret_threshold: 1 };
    const begun = await server.must("POST", "sys/rekey/init", once);
    const nonce = String(at(begun, "data", "nonce") ?? at(begun, "nonce"));
    await server.must("POST", "sys/rekey/update", { key: server.shares[0], nonce });
  }

  async exchange(): Promise<void> {
    const { url } = this.server.test;
    const sent = await sendSnapshot(url, this.server.root, "snapshot-force", this.snapshot);
    assert.equal(sent.status, 204, sent.text);
    await until(async () => {
      const answer = await this.server.test.call("GET", "/v1/sys/seal-status");
      return answer.status === 200 && at(answer, "sealed") === true;
    });
  }

  get stage(): EvidenceStage {
    const { test: node, time, root: token, shares } = this.server;
    return new EvidenceStage(node, time, { token, shares }, this.folder);
  }

  get fingerprint(): string {
    return this.before[0]?.signatures[0]?.keyid ?? "";
  }

  async status() {
    const answer = await this.server.must("GET", "sys/storage/raft/restore-status");
    return at(answer, "data") as { readonly adopted: number; readonly left: number };
  }

  /** Nothing is in the way of whoever unseals, and nothing is left of what was carried. */
  async unseals(): Promise<void> {
    for (const key of this.server.shares) {
      const answer = await this.server.test.call("POST", "/v1/sys/unseal", { body: { key } });
      assert.equal(answer.status, 200, answer.text);
    }
    assert.equal(this.server.test.server.keeper.sealed, false);
    assert.deepEqual(this.kept.clear, []);
    assert.equal(this.kept.disk.rows.get(COUNTS), null);
  }

  /** In restore-status and in attention. `isKnown`: whether somebody vouches for the number. */
  async tells(left: number, { isKnown }: { readonly isKnown: boolean }): Promise<void> {
    assert.equal((await this.status()).left, left);
    const { text } = await this.server.must("GET", "sys/attention");
    if (left === 0 && isKnown) return assert.ok(!text.includes("restore.left"), text);
    const which = left === 0 ? "may have left an unknown number of" : `has left ${left} or more`;
    assert.match(text, new RegExp(isKnown ? `has left ${left} leases` : `${which} leases`));
  }

  /** Whether the reports from before are all there as they were. Never is one of them another one. */
  async hasReports(): Promise<boolean> {
    const found = await this.found();
    if (found.size > 0) assert.deepEqual([...found.values()], this.before);
    const stored = this.kept.below("core/evidence/reports/").length;
    const listed = this.kept.below("core/evidence/lists/").length;
    assert.equal(listed, stored);
    const isThere = this.kept.disk.rows.get("core/evidence/reports/000000000001") !== null;
    assert.equal(isThere, found.size > 0, "nothing is left of what is not used");
    return found.size > 0;
  }

  /** Those from before that can be read. */
  async found(): Promise<ReadonlyMap<number, unknown>> {
    const found = new Map<number, unknown>();
    for (let number = 1; number <= BEFORE; number++) {
      const read = await this.server.ask("GET", `sys/evidence/${number}`);
      if (read.status === 200) found.set(number, at(read, "data", "envelope"));
      else assert.equal(read.status, 404, read.text);
    }
    return found;
  }

  /** Nothing of what lay there acts: neither receipts nor ends of chains, and what is listed was signed or named here. */
  actsOnNothing(): void {
    for (const folder of ["evidence/receipts/", "audit/exchanged/"])
      assert.deepEqual(this.kept.below(`core/${folder}`), [], folder);
    for (const folder of ["reports/", "lists/", "ids/"]) {
      const count = this.kept.below(`core/evidence/${folder}`).length;
      assert.ok(count <= 2, `${count} below ${folder}: the letter, and the key after it`);
    }
  }

  /** What is signed from here on goes on from the letter, in keys that are told. */
  async goesOn({ isLinked }: { readonly isLinked: boolean }): Promise<void> {
    const { stage } = this;
    const last = await stage.sign();
    assert.ok(last > LETTER, String(last));
    const numbers = at(await stage.ask("LIST", "sys/evidence?limit=1000"), "data", "key_info");
    const listed = Object.values(numbers as object).map(({ number }: { number: number }) => number);
    assert.equal(new Set(listed).size, listed.length);
    const first = Math.min(...listed.filter((number) => number > BEFORE));
    const after = await stage.envelopes(first, last);
    assert.deepEqual(
      after.map((one) => payloadOf(one)["number"]),
      Array.from(after, (_, i) => first + i),
    );
    const keys = stage.file(await stage.keys());
    const pinned = isLinked ? ["-fingerprint", this.fingerprint] : [];
    const file = stage.file(lines(isLinked ? [...this.before, ...after] : after));
    const checked = await verify("-keys", keys, ...pinned, file);
    assert.equal(checked.code, 0, checked.all);
  }

  /** Another process on the same disk; sealed. */
  async restart(): Promise<void> {
    await this.server.test.stop().catch(() => {});
    await this.server.start();
  }
}
