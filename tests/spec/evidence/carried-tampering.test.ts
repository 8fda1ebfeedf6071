// What is carried to data of other keys lies on the disk until somebody unseals, and whoever has the disk can do anything to
// it: nobody is kept from unsealing, no number is used twice, nothing forged is believed, and what is left outside is told.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { at } from "../../support/http-client.ts";
import {
  DAY,
  type EngineServer,
  engineServer,
  SECOND,
} from "../../support/servers/engine-server.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { CLEAR, KeptGenerations } from "../../support/stores/kept-generations.ts";
import { until } from "../../support/until.ts";
import { EvidenceStage, lines, payloadOf, verify, type WireEnvelope } from "./evidence-stage.ts";
import { forgedReport, ForgedSet } from "./forged-set.ts";

const BOUND = { timeout: 300_000 };
const COUNTS = "core/carried-counts";
const SEALED = `${CLEAR}sealed/`;
const REPORT = `${CLEAR}rows/reports/000000000003`;
/** Reports before the exchange. */
const BEFORE = 5;
/** Of the report that ends them. */
const LETTER = BEFORE + 1;
/** Leases that go along, and one whose mount the snapshot has not. */
const [WAITING, LEFT] = [2, 1];

class Exchanged {
  readonly kept = new KeptGenerations();
  readonly folder = mkdtempSync(join(tmpdir(), "holdfast-tampering-"));
  readonly server: EngineServer;
  before: readonly WireEnvelope[] = [];
  snapshot: Buffer = Buffer.alloc(0);

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
    own.snapshot = (await takeSnapshot(server.test.url, server.root)).body;
    for (let i = 0; i < WAITING; i++) await server.issue();
    await server.counting("newer");
    await server.issue("newer/creds/r");
    for (let i = 1; i < BEFORE; i++) await own.stage.sign({ i });
    own.before = await own.stage.envelopes(1, BEFORE);
    const once = { secret_shares: 1, secret_threshold: 1 };
    const begun = await server.must("POST", "sys/rekey/init", once);
    const nonce = String(at(begun, "data", "nonce") ?? at(begun, "nonce"));
    await server.must("POST", "sys/rekey/update", { key: server.shares[0], nonce });
    return own;
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

  /** In restore-status and in attention. */
  async tells(left: number): Promise<void> {
    assert.equal((await this.status()).left, left);
    const { text } = await this.server.must("GET", "sys/attention");
    if (left === 0) assert.ok(!text.includes("restore.left"), text);
    else assert.match(text, new RegExp(`has left ${left} leases`));
  }

  /** Whether the reports from before are all there as they were. Never is one of them another one. */
  async hasReports(): Promise<boolean> {
    const found = [];
    for (let number = 1; number <= BEFORE; number++) {
      const read = await this.server.ask("GET", `sys/evidence/${number}`);
      if (read.status === 200) found.push(at(read, "data", "envelope"));
      else assert.equal(read.status, 404, read.text);
    }
    if (found.length > 0) assert.deepEqual(found, this.before);
    const stored = this.kept.below("core/evidence/reports/").length;
    const listed = this.kept.below("core/evidence/lists/").length;
    assert.equal(listed, stored);
    const isThere = this.kept.disk.rows.get("core/evidence/reports/000000000001") !== null;
    assert.equal(isThere, found.length > 0, "nothing is left of what is not used");
    return found.length > 0;
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

interface Tampering {
  readonly name: string;
  readonly change: (kept: KeptGenerations) => void;
  /** What a process that holds nothing still knows. */
  readonly letter?: false;
  readonly ring?: false;
  readonly rows?: false;
  /** Leases that cannot be taken over, by who holds their key. */
  readonly lost?: number;
}

const json = (kept: KeptGenerations, key: string) =>
  JSON.parse(Buffer.from(kept.disk.rows.get(key)!).toString()) as Record<string, unknown>;
const put = (kept: KeptGenerations, key: string, value: unknown) =>
  kept.write([{ key, value: Buffer.from(JSON.stringify(value)) }]);
const remove = (kept: KeptGenerations, keys: readonly string[]) =>
  kept.write(keys.map((key) => ({ key, value: null })));
const sealedRows = (kept: KeptGenerations) => kept.clear.filter((key) => key.startsWith(SEALED));
const STRANGE = ["rows//x", "rows/a\u0001b", `rows/${"x".repeat(5000)}`, "rows/reports/7/"];
const STRANGE_SEALED = [
  "sealed//x",
  "sealed/leases/records/z\u0001",
  `sealed/leases/records/${"x".repeat(5000)}`,
  "zzz",
  "/",
];
const LONG = Buffer.alloc(3 << 20, 7);

const TAMPERINGS: readonly Tampering[] = [
  { name: "nothing", change: () => {} },
  { name: "the letter removed", change: (kept) => remove(kept, [`${CLEAR}letter`]), letter: false },
  { name: "the letter changed", change: (kept) => kept.change(`${CLEAR}letter`), letter: false },
  {
    name: "the letter too long",
    change: (kept) => kept.write([{ key: `${CLEAR}letter`, value: LONG }]),
    letter: false,
  },
  {
    name: "the letter padded",
    change: (kept) => {
      const value = Buffer.from(kept.disk.rows.get(`${CLEAR}letter`)!);
      kept.write([
        { key: `${CLEAR}letter`, value: Buffer.concat([value, Buffer.alloc(1 << 20, " ")]) },
      ]);
    },
    letter: false,
  },
  {
    name: "another number in the letter",
    change: (kept) => {
      const envelope = json(kept, `${CLEAR}letter`) as unknown as WireEnvelope;
      const payload = Buffer.from(JSON.stringify({ ...payloadOf(envelope), number: 3 }));
      put(kept, `${CLEAR}letter`, { ...envelope, payload: payload.toString("base64") });
    },
    letter: false,
  },
  { name: "a row removed", change: (kept) => remove(kept, [REPORT]), rows: false },
  { name: "a row changed", change: (kept) => kept.change(REPORT), rows: false },
  {
    name: "a row added",
    change: (kept) => kept.write([{ key: `${CLEAR}rows/ids/a`, value: Buffer.from("1") }]),
    rows: false,
  },
  ...STRANGE.map((name) => ({
    name: `a strange name ${JSON.stringify(name.slice(0, 20))}`,
    change: (kept: KeptGenerations) => kept.write([{ key: CLEAR + name, value: Buffer.from("x") }]),
    rows: false as const,
  })),
  ...STRANGE_SEALED.map((name) => ({
    name: `a strange name ${JSON.stringify(name.slice(0, 40))}`,
    change: (kept: KeptGenerations) => kept.write([{ key: CLEAR + name, value: Buffer.from("x") }]),
  })),
  {
    name: "a long value",
    change: (kept) => kept.write([{ key: `${CLEAR}rows/ids/b`, value: LONG }]),
    rows: false,
  },
  {
    name: "a long sealed value",
    change: (kept) => kept.write([{ key: `${SEALED}leases/records/root/x`, value: LONG }]),
  },
  {
    name: "a private half",
    change: (kept) =>
      kept.write([{ key: `${CLEAR}rows/secrets/${"ab".repeat(32)}`, value: Buffer.from("half") }]),
    rows: false,
  },
  {
    name: "another number in the head",
    change: (kept) =>
      put(kept, `${CLEAR}rows/head`, { ...json(kept, `${CLEAR}rows/head`), number: 2 }),
    rows: false,
  },
  {
    name: "another ring",
    change: (kept) => put(kept, `${CLEAR}rows/ring`, new ForgedSet().ring),
    rows: false,
    ring: false,
  },
  {
    name: "a key of somebody else in the ring",
    change: (kept) => {
      const ring = json(kept, `${CLEAR}rows/ring`) as { keys: unknown[] };
      put(kept, `${CLEAR}rows/ring`, {
        ...ring,
        keys: [...new ForgedSet().ring.keys, ...ring.keys],
      });
    },
    rows: false,
  },
  { name: "sealed rows removed", change: (kept) => remove(kept, sealedRows(kept)), lost: WAITING },
  {
    name: "a sealed row changed",
    change: (kept) => kept.change(sealedRows(kept)[0] ?? ""),
    lost: 1,
  },
  {
    name: "a sealed row under another name",
    change: (kept) => {
      const [first = ""] = sealedRows(kept);
      const value = Buffer.from(kept.disk.rows.get(first) ?? []);
      kept.write([{ key: `${first}x`, value }]);
    },
  },
  {
    name: "everything removed",
    change: (kept) => kept.replaceClear([]),
    letter: false,
    rows: false,
    lost: WAITING,
  },
];

test(
  "whatever is done to what was carried, the process that made the exchange goes by what it holds",
  BOUND,
  async (t) => {
    for (const { name, change, rows, lost = 0 } of TAMPERINGS) {
      await t.test(name, async (sub) => {
        const own = await Exchanged.make(sub);
        change(own.kept);
        await own.unseals();
        const isGone = rows === false;
        assert.equal(await own.hasReports(), !isGone);
        const { lines: logged } = own.server.test;
        assert.equal(
          logged.some((line) => line.includes("evidence.lost")),
          isGone,
        );
        await own.goesOn({ isLinked: true });
        assert.equal((await own.status()).adopted, WAITING - lost);
        await own.tells(LEFT + lost);
        await own.server.passUntil(
          () => own.server.outside.objects.length === LEFT + lost,
          10n * SECOND,
        );
      });
    }
  },
);

/** After a restart nobody holds anything: what is known is what lies there, as far as it was signed. */
async function goesByWhatLiesThere(
  own: Exchanged,
  { letter, ring, rows }: Pick<Tampering, "letter" | "ring" | "rows">,
  sealedLeft: number,
): Promise<void> {
  await own.unseals();
  if (letter === false) {
    assert.ok(own.server.test.lines.some((line) => line.includes("evidence.lost")));
    assert.equal(await own.stage.sign(), 2, "nothing is known: it begins anew, and says so");
    const first = payloadOf(await own.stage.envelope(1));
    assert.equal((first["result"] as { state: string }).state, "begun");
    return own.tells(sealedLeft);
  }
  assert.equal(await own.hasReports(), rows !== false);
  await own.goesOn({ isLinked: false });
  const { keys } = await own.stage.keys();
  const old = keys.filter(({ statement }) => Number(payloadOf(statement)["number"]) < LETTER);
  const fingerprints = old.map(({ fingerprint }) => fingerprint);
  assert.deepEqual(fingerprints, ring === false ? [] : [own.fingerprint]);
  await own.tells(WAITING + LEFT);
}

test(
  "whatever is done to what was carried and the process restarts: it opens, and tells all that was left",
  BOUND,
  async (t) => {
    const own = await Exchanged.make(t);
    await own.server.test.stop();
    const reset = own.kept.saved();
    for (const tampering of TAMPERINGS) {
      reset();
      tampering.change(own.kept);
      const sealedLeft = sealedRows(own.kept).length;
      await own.restart();
      try {
        await goesByWhatLiesThere(own, tampering, sealedLeft);
      } catch (error) {
        throw new Error(tampering.name, { cause: error });
      }
    }
  },
);

/** One of each: all of them come at every commit. */
const EACH_KIND = TAMPERINGS.filter(({ name }) =>
  [
    "nothing",
    "the letter removed",
    "a row removed",
    "a row changed",
    "a row added",
    'a strange name "rows//x"',
    'a strange name "zzz"',
    "a long value",
    "another number in the head",
    "another ring",
    "sealed rows removed",
  ].includes(name),
);

test(
  "the power fails at any commit of the first unseal, and somebody has the disk before the next one",
  BOUND,
  async (t) => {
    const own = await Exchanged.make(t);
    await own.server.test.stop();
    const reset = own.kept.saved();
    const commits: number[] = [];
    for (let cut = 0; ; cut++) {
      reset();
      await own.restart();
      own.kept.left = cut;
      for (const key of own.server.shares) {
        await own.server.test.call("POST", "/v1/sys/unseal", { body: { key } }).catch(() => null);
      }
      const isCut = own.kept.left < 0;
      await own.server.test.crash();
      own.kept.left = Infinity;
      const again = own.kept.saved();
      const rows = own.kept.disk.rows;
      const isDecided = rows.get("core/evidence/head") !== null;
      const isDone = isDecided && rows.get(COUNTS) === null;
      commits.push(Number(isDecided) + Number(isDone));
      for (const tampering of isDone ? [] : EACH_KIND) {
        again();
        const hasLetter = own.kept.disk.rows.get(`${CLEAR}letter`) !== null;
        if (!hasLetter && tampering.name !== "nothing") continue; // the removal has begun
        if (sealedRows(own.kept).length === WAITING && own.kept.disk.rows.get(REPORT) !== null) {
          tampering.change(own.kept);
        }
        const sealedLeft = sealedRows(own.kept).length;
        await own.restart();
        try {
          await goesByWhatLiesThere(own, isDecided ? {} : tampering, sealedLeft);
          assert.equal(
            own.server.test.lines.some((line) => line.includes("evidence.refused")),
            false,
            "what is left of a removal was put there by nobody",
          );
        } catch (error) {
          throw new Error(`cut ${cut}, ${tampering.name}`, { cause: error });
        }
      }
      if (!isCut) break;
    }
    assert.ok(commits.filter((state) => state === 0).length > 2, String(commits));
    assert.ok(commits.filter((state) => state === 1).length > 2, String(commits));
  },
);

test(
  "what was put there for one attempt and taken away before the next is not in what the next takes in",
  BOUND,
  async (t) => {
    const own = await Exchanged.make(t);
    await own.server.test.stop();
    const planted = ["rows/lists/root/000000000004x", "rows/audit/planted", "rows/receipts/x"].map(
      (name) => CLEAR + name,
    );
    own.kept.write(planted.map((key) => ({ key, value: Buffer.from("{}") })));
    const reset = own.kept.saved();
    let copied = 0;
    for (let cut = 0, isCut = true; isCut; cut++) {
      reset();
      await own.restart();
      own.kept.left = cut;
      for (const key of own.server.shares) {
        await own.server.test.call("POST", "/v1/sys/unseal", { body: { key } }).catch(() => null);
      }
      isCut = own.kept.left < 0;
      await own.server.test.crash();
      own.kept.left = Infinity;
      const { rows } = own.kept.disk;
      if (rows.get("core/evidence/head") !== null) return assert.ok(copied > 0);
      if (rows.get("core/evidence/receipts/x") !== null) copied++;
      remove(own.kept, planted);
      await own.restart();
      await own.unseals();
      assert.equal(await own.hasReports(), true);
      for (const key of ["core/evidence/receipts/x", "core/audit/exchanged/planted"]) {
        assert.equal(own.kept.disk.rows.get(key), null, `${key}, cut ${cut}`);
      }
    }
  },
);

test(
  "a letter whose keys are gone gives its number, and the power fails before there is a key: it is not given twice",
  BOUND,
  async (t) => {
    const own = await Exchanged.make(t);
    await own.server.test.stop();
    remove(own.kept, [`${CLEAR}rows/ring`]);
    const reset = own.kept.saved();
    let withoutKey = 0;
    for (let cut = 0, isCut = true; isCut; cut++) {
      reset();
      await own.restart();
      own.kept.left = cut;
      for (const key of own.server.shares) {
        await own.server.test.call("POST", "/v1/sys/unseal", { body: { key } }).catch(() => null);
      }
      isCut = own.kept.left < 0;
      await own.server.test.crash();
      own.kept.left = Infinity;
      const { rows } = own.kept.disk;
      const has = (key: string) => rows.get(key) !== null;
      if (has("core/evidence/head") && !has("core/evidence/ring") && !has(COUNTS)) withoutKey++;
      await own.restart();
      await own.unseals();
      await own.goesOn({ isLinked: false });
      await own.tells(WAITING + LEFT);
    }
    assert.ok(withoutKey > 0);
  },
);

test(
  "a store that was never exchanged takes nothing of what is put there, neither evidence nor leases",
  BOUND,
  async (t) => {
    const foreign = await Exchanged.make(t);
    const kept = new KeptGenerations();
    const server = await engineServer(t, { generations: kept });
    const folder = foreign.folder;
    const stage = () =>
      new EvidenceStage(
        server.test,
        server.time,
        { token: server.root, shares: server.shares },
        folder,
      );
    assert.equal(await stage().sign(), 2);
    const keys = await stage().keys();
    const strange = [...STRANGE, ...STRANGE_SEALED].map((name) => [
      { key: CLEAR + name, value: Buffer.from("x") },
    ]);
    let number = 2;
    for (const planted of [foreign.kept.rows(), ...strange]) {
      await server.test.stop();
      kept.write(planted);
      await server.start();
      await server.test.unseal(server.shares);
      assert.deepEqual(kept.clear, []);
      assert.ok(server.test.lines.some((line) => line.includes("evidence.refused")));
      assert.equal(await stage().sign(), ++number);
      assert.deepEqual(await stage().keys(), keys);
      const status = at(await server.must("GET", "sys/storage/raft/restore-status"), "data");
      assert.equal((status as { left: number }).left, 0);
      const { text } = await server.must("GET", "sys/attention");
      assert.ok(!text.includes("restore.left"), text);
    }
  },
);

test(
  "a set that somebody made and signed himself is believed as far as it can do no harm, and no further",
  BOUND,
  async (t) => {
    const own = await Exchanged.make(t);
    await own.server.test.stop();
    const reset = own.kept.saved();
    const [fifth, sixth] = [forgedReport(5), forgedReport(6)];
    const next = forgedReport(6, fifth.digest);
    const both = (one: typeof fifth, two: typeof sixth) =>
      new ForgedSet({
        previous: two.digest,
        head: { first: 5, bytes: one.bytes + two.bytes },
        more: [one, two].map(({ key, row }) => [key, JSON.stringify(row)]),
      });
    const [linked, apart] = [both(fifth, next), both(fifth, sixth)];
    const unlike = new ForgedSet({
      head: { first: 6, bytes: sixth.bytes },
      more: [[sixth.key, JSON.stringify({ ...sixth.row, digest: "cd".repeat(32) })]],
    });
    const cases: readonly (readonly [string, ForgedSet, number])[] = [
      ["one that is well formed", new ForgedSet(), 9],
      ["a number that leaves none", new ForgedSet({ number: 9_007_199_254_740_991 }), 2],
      ["a number of thirteen digits", new ForgedSet({ number: 1_000_000_000_000 }), 2],
      ["a number after which few can follow", new ForgedSet({ number: 999_999_999_998 }), 2],
      ["a sum of no reports", new ForgedSet({ head: { bytes: 5 } }), 9],
      ["reports that are missing", new ForgedSet({ head: { first: 1 } }), 9],
      ["a head that is not before the letter", new ForgedSet({ headNumber: 3 }), 9],
      ["a head of another digest", new ForgedSet({ headDigest: "ab".repeat(32) }), 9],
      ["more left than can be", new ForgedSet({ left: 9_007_199_254_740_991 }), 2],
      ["reports that are not there", new ForgedSet({ head: { first: 1, bytes: 1 << 30 } }), 9],
      ["a report that is none", new ForgedSet({ more: [["reports/000000000007", "{}"]] }), 9],
      ["a report, linked", linked, 9],
      ["a report of another digest", unlike, 9],
      ["a report that does not follow", apart, 9],
      ["an id that is none", new ForgedSet({ more: [["ids/x", "7"]] }), 9],
      ["receipts that are none", new ForgedSet({ more: [["receipts/by-time/x", "{}"]] }), 9],
      [
        "receipts that lead nowhere",
        new ForgedSet({ more: [["receipts/ids/root/count/creds/r/x", '"//"']] }),
        9,
      ],
      [
        "a sum of receipts",
        new ForgedSet({ more: [["receipts/totals", '{"bytes":5,"reported":""}']] }),
        9,
      ],
      ["the end of a chain that is none", new ForgedSet({ more: [["audit/main", "no JSON"]] }), 9],
      ["a ring of too many keys", new ForgedSet({ ringKeys: 1001 }), 9],
      ["a time that is none", new ForgedSet({ madeAt: "soon" }), 2],
      ["a time that never comes", new ForgedSet({ madeAt: "9999-01-01T00:00:00Z" }), 9],
      ["a namespace that is no part of a key", new ForgedSet({ namespace: "a//b" }), 2],
    ];
    for (const [name, forged, number] of cases) {
      reset();
      own.kept.replaceClear(forged.rows.map(([key, value]) => ({ key: CLEAR + key, value })));
      await own.restart();
      try {
        await own.unseals();
        assert.equal(await own.stage.sign(), number);
        await own.stage.sign();
        const isTaken = own.server.test.lines.some((line) => line.includes("evidence.taken"));
        const taken = ["one that is well formed", "a report, linked", "a time that never comes"];
        assert.equal(isTaken, taken.includes(name));
        if (isTaken) {
          await own.stage.pass(401n * DAY);
          const old = await own.server.ask("GET", "sys/evidence/7");
          assert.notEqual(
            old.status,
            200,
            "it goes when its time is over, whatever it says of that",
          );
        }
        // Leases still end, and have receipts.
        const { id } = await own.server.issue();
        await own.server.revoke(id, { sync: true });
        await own.server.must("GET", `sys/evidence/receipts/${id}`);
      } catch (error) {
        throw new Error(name, { cause: error });
      }
    }
  },
);

test(
  "a full disk keeps nobody from unsealing after an exchange, and nothing is lost by it",
  BOUND,
  async (t) => {
    for (const restarts of [false, true]) {
      const own = await Exchanged.make(t);
      if (restarts) await own.restart();
      own.kept.free = 0;
      await own.unseals();
      own.kept.free = null;
      await own.server.time.passSlowly(SECOND, SECOND);
      assert.equal(await own.hasReports(), true);
      await own.goesOn({ isLinked: !restarts });
      await own.tells(restarts ? WAITING + LEFT : LEFT);
    }
  },
);

test("a row that nobody here has sealed where the counts are is removed", BOUND, async (t) => {
  const own = await Exchanged.make(t);
  for (let i = 0; i < 2; i++) {
    own.kept.write([{ key: COUNTS, value: Buffer.from("{}") }]);
    await own.unseals();
    assert.equal(await own.hasReports(), true);
    await own.tells(LEFT);
    await own.server.test.stop();
    await own.server.start();
  }
});

test(
  "an exchange that fails at the switch: the house goes on with the number that it had signed for, and counts nothing as left",
  BOUND,
  async (t) => {
    const own = await Exchanged.running(t);
    own.kept.refusesSwitch = true;
    const { url } = own.server.test;
    const sent = await sendSnapshot(url, own.server.root, "snapshot-force", own.snapshot);
    assert.equal(sent.status, 204, sent.text);
    await until(async () => {
      const answer = await own.server.ask("GET", "sys/storage/raft/restore-status");
      return answer.status === 200 && at(answer, "data", "state") === "failed";
    });
    await own.tells(0);
    assert.equal(await own.stage.sign(), LETTER);
    const sixth = await own.stage.envelope(LETTER);
    own.kept.refusesSwitch = false;
    await own.exchange();
    await own.unseals();
    assert.deepEqual(await own.stage.envelope(LETTER), sixth, "this one alone has the number");
    assert.equal(await own.stage.sign(), LETTER + 2);
    await own.tells(LEFT);
  },
);
