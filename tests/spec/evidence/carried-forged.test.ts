// The server was restarted between an exchange and its unsealing, or there was none, and somebody who has the disk and none of the
// keys has put a set of rows there that he made and signed himself: it gives a number and something to read, and does nothing.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { engineServer, MINUTE, SECOND } from "../../support/servers/engine-server.ts";
import { CLEAR, KeptGenerations } from "../../support/stores/kept-generations.ts";
import { EvidenceStage, payloadOf } from "./evidence-stage.ts";
import { Exchanged } from "./exchanged-server.ts";
import { forgedReport, ForgedSet, TEMPLATE } from "./forged-set.ts";
import { remove, STRANGE, STRANGE_SEALED } from "./tamperings.ts";

const BOUND = { timeout: 300_000 };

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
      assert.doesNotMatch(text, /restore\.left|evidence\.unproven/);
    }
  },
);

test(
  "a store that was never exchanged and has lost what tells how far its evidence is: what is put there does not go on with it",
  BOUND,
  async (t) => {
    const kept = new KeptGenerations();
    const server = await engineServer(t, { generations: kept });
    await server.test.stop();
    remove(kept, ["core/evidence/head", "core/evidence/ring"]);
    const reports = kept.below("core/evidence/reports/");
    assert.equal(reports.length, 1);
    const forged = new ForgedSet({ number: 500 });
    kept.write(forged.rows.map(([key, value]) => ({ key: CLEAR + key, value })));
    await server.restart();
    assert.deepEqual(kept.clear, []);
    assert.ok(server.test.lines.some((line) => line.includes("evidence.refused")));
    const keys = at(await server.test.call("GET", "/v1/sys/evidence/keys"), "data", "keys");
    assert.equal((keys as unknown[]).length, 1, "one that was made now");
    const listed = at(await server.must("LIST", "sys/evidence"), "data", "key_info");
    const numbers = Object.values(listed as object).map(({ number }: { number: number }) => number);
    assert.deepEqual(numbers, [1]);
  },
);

/** A receipt as it is stored, of a lease that may never have been. */
function forgedReceipt(id: string, nanoseconds: string) {
  const key = `by-time/${nanoseconds.padStart(20, "0")}/root/${id}`;
  const texts = { path: "", secret_type: "", role: "", accessor: "", error: "" };
  const times = { issued: "2026-01-01T00:00:00Z", ended: "2026-01-01T00:00:00Z", good_until: null };
  const names = { lease_id: id, namespace_id: "root", objects: [], request_ids: [], origin: null };
  const row = { ...names, ...texts, ...times, why: "revoke", result: "ended", tries: 1 };
  // Fewer bytes than the server needs for the same.
  const numbers = Array.from({ length: 100 }, () => "1e20").join();
  const value = JSON.stringify(row).replace('"origin":null', `"origin":{"all":[${numbers}]}`);
  const totals = JSON.stringify({ bytes: value.length, reported: "" });
  return [
    [`receipts/${key}`, value],
    [`receipts/ids/root/${id}`, JSON.stringify(key)],
    ["receipts/totals", totals],
  ] as const;
}

/** First: time passes with each set, and the lease ends by itself. */
const GOOD_LEASE = "a receipt of a lease that is good";
const LONG_AGO = { madeAt: "2024-01-01T00:00:00Z" };

/** Sets that somebody made and signed himself, and the number of the first report that is signed after them. */
function forgedSets(own: Exchanged): readonly (readonly [string, ForgedSet, number])[] {
  const [fifth, sixth, eighth] = [forgedReport(5), forgedReport(6), forgedReport(8)];
  const next = forgedReport(6, fifth.digest);
  const both = (one: typeof fifth, two: typeof sixth) =>
    new ForgedSet({
      previous: two.digest,
      head: { first: 5, bytes: one.bytes + two.bytes },
      more: [one, two].map(({ key, row }) => [key, JSON.stringify(row)]),
    });
  const elsewhere = forgedReport(6, undefined, "n".repeat(4080));
  const unlike = new ForgedSet({
    head: { first: 6, bytes: sixth.bytes },
    more: [[sixth.key, JSON.stringify({ ...sixth.row, digest: "cd".repeat(32) })]],
  });
  return [
    [GOOD_LEASE, new ForgedSet({ more: forgedReceipt(own.known, "1767225600000000000") }), 9],
    ["one that is well formed", new ForgedSet(), 9],
    ["a number that leaves none", new ForgedSet({ number: 9_007_199_254_740_991 }), 2],
    ["a number of thirteen digits", new ForgedSet({ number: 1_000_000_000_000 }), 2],
    ["a number after which few can follow", new ForgedSet({ number: 999_999_999_998 }), 2],
    ["a head that is not before the letter", new ForgedSet({ headNumber: 3 }), 9],
    ["more left than can be", new ForgedSet({ left: 9_007_199_254_740_991 }), 2],
    ["reports that are not there", new ForgedSet({ head: { first: 1, bytes: 1 << 30 } }), 9],
    ["a report that is none", new ForgedSet({ more: [["reports/000000000007", "{}"]] }), 9],
    ["a report, linked", both(fifth, next), 9],
    [
      "a report behind the letter",
      new ForgedSet({ more: [[eighth.key, JSON.stringify(eighth.row)]] }),
      9,
    ],
    ["a report that does not follow", both(fifth, sixth), 9],
    ["a report of another digest", unlike, 9],
    [
      "a report of a namespace whose name fills a key",
      new ForgedSet({
        previous: elsewhere.digest,
        head: { first: 6, bytes: elsewhere.bytes },
        more: [[elsewhere.key, JSON.stringify(elsewhere.row)]],
      }),
      9,
    ],
    [
      "digests of reports that were never dropped",
      new ForgedSet({ ...LONG_AGO, more: [["dropped/000000000000", Buffer.alloc(31_968, 7)]] }),
      9,
    ],
    ["an id that is none", new ForgedSet({ more: [["ids/x", "7"]] }), 9],
    ["receipts that are none", new ForgedSet({ more: [["receipts/by-time/x", "{}"]] }), 9],
    [
      "a receipt that is shorter than the server writes it",
      new ForgedSet({ more: forgedReceipt("count/creds/r/x", "1") }),
      9,
    ],
    [
      "a receipt of a time that never comes",
      new ForgedSet({ more: forgedReceipt("count/creds/r/x", "9".repeat(20)) }),
      9,
    ],
    ["the end of a chain that is none", new ForgedSet({ more: [["audit/main", "no JSON"]] }), 9],
    ["a ring of too many keys", new ForgedSet({ ringKeys: 200 }), 9],
    ["a ring that fills a row", new ForgedSet({ padding: 784_000 }), 9],
    ["a letter that fills a row", new ForgedSet({ letterPadding: 780_000 }), 9],
    [
      "a ring and a letter that fill a row together",
      new ForgedSet({ padding: 400_000, letterPadding: 400_000 }),
      9,
    ],
    ["a time that is none", new ForgedSet({ madeAt: "soon" }), 2],
    ["a time long ago", new ForgedSet(LONG_AGO), 9],
    ["a namespace that is no part of a key", new ForgedSet({ namespace: "a//b" }), 2],
    ["a time that never comes", new ForgedSet({ madeAt: "9999-01-01T00:00:00Z" }), 9],
  ];
}

test(
  "a set that somebody made and signed himself gives a number and reports to be read, and does nothing",
  BOUND,
  async (t) => {
    const own = await Exchanged.make(t);
    await own.server.test.stop();
    const reset = own.kept.saved();
    for (const [name, forged, number] of forgedSets(own)) {
      reset();
      own.kept.replaceClear(forged.rows.map(([key, value]) => ({ key: CLEAR + key, value })));
      await own.restart();
      try {
        await own.unseals();
        own.actsOnNothing();
        const kept = own.kept.below("core/evidence/earlier/").map(({ key }) => key.slice(-1));
        const letters = [String(number - 1), String(number - 2)].map((text) => text.slice(-1));
        assert.ok(
          kept.every((digit) => ["5", "6", ...letters].includes(digit)),
          kept.join(" "),
        );
        assert.equal(await own.stage.sign(), number);
        await own.tells(0, { isKnown: false });
        // Leases still end, have receipts, and are signed for; those that nobody ended stay.
        const { server } = own;
        const { id } = await server.issue();
        await server.revoke(id, { sync: true });
        await server.must("GET", `sys/evidence/receipts/${id}`);
        await server.time.passSlowly(MINUTE, 10n * SECOND);
        if (name === GOOD_LEASE) assert.equal(await server.isThere(own.known), true);
        await server.time.passSlowly(70n * MINUTE, 10n * MINUTE);
        const signed = payloadOf(await own.stage.envelope(number + 1));
        assert.equal(signed["kind"], "leases.ended");
        const first = await server.ask("GET", "sys/evidence/1");
        assert.doesNotMatch(first.text, /(?:07){32}/, "a digest that nobody here has dropped");
      } catch (error) {
        throw new Error(name, { cause: error });
      }
    }
  },
);

test(
  "of reports from before 64 MiB are kept, those that say their own number, and none behind the letter",
  BOUND,
  async (t) => {
    const own = await Exchanged.make(t);
    await own.server.test.stop();
    const large = (number: number) => {
      const { key, row } = forgedReport(number, undefined, "n".repeat(700_000));
      return [key, JSON.stringify({ envelope: row.envelope })] as const;
    };
    const more = Array.from({ length: 80 }, (_, i) => large(i + 4));
    const [, of2] = large(2);
    more.push([forgedReport(3).key, of2], large(100), large(101));
    const forged = new ForgedSet({ number: 100, more });
    own.kept.replaceClear(forged.rows.map(([key, value]) => ({ key: CLEAR + key, value })));
    await own.restart();
    await own.unseals();
    const kept = own.kept.below("core/evidence/earlier/");
    const numbers = kept.map(({ key }) => Number(key.slice(-12)));
    assert.equal(numbers.pop(), 100, "the letter");
    assert.deepEqual(
      numbers,
      numbers.map((_, i) => i + 4),
    );
    const bytes = kept.reduce((sum, { value }) => sum + value.length, 0);
    assert.ok(bytes > 60 << 20 && bytes <= 64 << 20, String(bytes));
    assert.equal((await own.server.ask("GET", "sys/evidence/3")).status, 404);
    assert.equal((await own.server.ask("GET", "sys/evidence/4")).status, 200);
    assert.equal(await own.stage.sign(), 102);
  },
);

test(
  "a report whose bytes are no text, or that is nested deeply, keeps nobody from unsealing or reading",
  BOUND,
  async (t) => {
    const own = await Exchanged.make(t);
    await own.server.test.stop();
    const fifth = forgedReport(5);
    const raw = Buffer.from(
      JSON.stringify({
        envelope: { ...fifth.row.envelope, signatures: [{ keyid: "@@", sig: "" }] },
      }),
    );
    const place = raw.indexOf("@@");
    const grows = [raw.subarray(0, place), Buffer.alloc(900_000, 0xff), raw.subarray(place + 2)];
    const deep = JSON.stringify({
      ...TEMPLATE,
      number: 4,
      previous: "cd".repeat(32),
      subject: { a: 7 },
    });
    const nested = deep.replace(":7", `:${"[".repeat(200_000)}${"]".repeat(200_000)}`);
    const envelope = {
      ...fifth.row.envelope,
      payload: Buffer.from(nested).toString("base64"),
      signatures: [],
    };
    const rows = [
      ...new ForgedSet().rows,
      ["rows/reports/000000000005", Buffer.concat(grows)],
      ["rows/reports/000000000004", Buffer.from(JSON.stringify({ envelope }))],
    ] as const;
    own.kept.replaceClear(rows.map(([key, value]) => ({ key: CLEAR + key, value })));
    await own.restart();
    await own.unseals();
    for (const number of [4, 5]) {
      const { status } = await own.server.ask("GET", `sys/evidence/${number}`);
      assert.ok(status === 200 || status === 404, `${number}: ${status}`);
    }
    // What nobody vouches for is told apart from what signs here, and stands in no list.
    const keys = at(await own.server.must("GET", "sys/evidence/keys"), "data", "keys");
    const marks = (keys as { unproven: boolean }[]).map(({ unproven }) => unproven);
    assert.deepEqual([marks.at(-1), new Set(marks.slice(0, -1))], [false, new Set([true])]);
    const letter = await own.server.must("GET", "sys/evidence/7");
    assert.match(String(at(letter, "warnings", 0)), /kept to be read/);
    const listed = at(await own.server.must("LIST", "sys/evidence"), "data", "key_info") as object;
    const numbers = Object.values(listed).map(({ number }: { number: number }) => number);
    assert.ok(!numbers.includes(7), numbers.join(" "));
  },
);
