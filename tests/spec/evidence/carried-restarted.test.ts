// The server is restarted between an exchange for data of other keys and its unsealing: nobody holds anything any more, and
// whoever has the disk can have written all that lies there. It opens, numbers go on from the letter, reports are kept to be
// read, and nothing that lies there does anything.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { someOf } from "../../support/often.ts";
import { DAY, HOUR, MINUTE } from "../../support/servers/engine-server.ts";
import { CLEAR } from "../../support/stores/kept-generations.ts";
import { payloadOf } from "./evidence-stage.ts";
import { BEFORE, COUNTS, Exchanged, LEFT, LETTER, WAITING } from "./exchanged-server.ts";
import { forgedReport } from "./forged-set.ts";
import { remove, REPORT, sealedRows, type Tampering, TAMPERINGS } from "./tamperings.ts";

const BOUND = { timeout: 300_000 };
const UNKNOWN = { isKnown: false };

/** What is known is what lies there, and nobody vouches for it. */
async function goesByTheLetter(
  own: Exchanged,
  { letter, ring, rows }: Pick<Tampering, "letter" | "ring" | "rows">,
  sealedLeft: number,
): Promise<void> {
  await own.unseals();
  const { text } = await own.server.must("GET", "sys/attention");
  assert.match(text, /evidence\.unproven/);
  own.actsOnNothing();
  if (letter === false) {
    assert.equal(await own.stage.sign(), 2, "nothing is known: it begins anew, and says so");
    const first = payloadOf(await own.stage.envelope(1));
    assert.equal((first["result"] as { state: string }).state, "begun");
    return own.tells(sealedLeft, UNKNOWN);
  }
  const found = await own.found();
  for (const [number, envelope] of found) {
    if (rows !== false || number !== 3) assert.deepEqual(envelope, own.before[number - 1]);
  }
  assert.ok(found.size >= BEFORE - (rows === false ? 1 : 0), String([...found.keys()]));
  await own.goesOn({ isLinked: false });
  const { keys } = await own.stage.keys();
  const old = keys.filter(({ statement }) => Number(payloadOf(statement)["number"]) < LETTER);
  const fingerprints = old.map(({ fingerprint }) => fingerprint);
  assert.deepEqual(fingerprints, ring === false ? [] : [own.fingerprint]);
  await own.tells(WAITING + LEFT, UNKNOWN);
}

/** The first unseal, with the power failing after so many commits. Whether it did. */
async function isCutAfter(own: Exchanged, commits: number): Promise<boolean> {
  await own.restart();
  own.kept.left = commits;
  for (const key of own.server.shares) {
    await own.server.test.call("POST", "/v1/sys/unseal", { body: { key } }).catch(() => null);
  }
  const isCut = own.kept.left < 0;
  await own.server.test.crash();
  own.kept.left = Infinity;
  return isCut;
}

test(
  "whatever is done to what was carried: it opens, and tells all that was left",
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
        await goesByTheLetter(own, tampering, sealedLeft);
      } catch (error) {
        throw new Error(tampering.name, { cause: error });
      }
    }
  },
);

test(
  "reports from before are for who reads them by their number in the root namespace, with a warning, and in no list",
  BOUND,
  async (t) => {
    const own = await Exchanged.make(t);
    await own.restart();
    await own.unseals();
    const { server } = own;
    const read = await server.must("GET", "sys/evidence/3");
    assert.deepEqual(at(read, "data", "envelope"), own.before[2]);
    assert.match(read.text, /kept to be read/);
    const id = String(at(read, "data", "id"));
    assert.equal((await server.ask("GET", `sys/evidence/${id}`)).status, 404);
    await server.must("POST", "sys/namespaces/team");
    const inTeam = await server.ask("GET", "sys/evidence/3", undefined, { namespace: "team" });
    assert.equal(inTeam.status, 404, inTeam.text);
    const listed = at(await server.must("LIST", "sys/evidence"), "data", "key_info");
    const numbers = Object.values(listed as object).map(({ number }: { number: number }) => number);
    assert.deepEqual(numbers, [LETTER + 1]);
    const own8 = await server.must("GET", `sys/evidence/${LETTER + 1}`);
    assert.doesNotMatch(own8.text, /kept to be read/);
    // Receipts are gone: what had ended and is in the data again stays until its time.
    assert.equal((await server.ask("GET", `sys/evidence/receipts/${own.ended}`)).status, 404);
    await server.time.passSlowly(MINUTE, MINUTE);
    assert.equal(await server.isThere(own.ended), true);
    // They go along with the next exchange as well, with a restart and without.
    for (const restarts of [false, true]) {
      await own.goOn();
      await own.exchange();
      if (restarts) await own.restart();
      await own.unseals();
      assert.deepEqual([...(await own.found()).values()], own.before);
    }
    await server.time.passSlowly(31n * DAY, 6n * HOUR);
    const { text } = await server.must("GET", "sys/attention");
    assert.doesNotMatch(text, /evidence\.unproven|restore\.left/);
  },
);

/** One of each: they come at commits of the first unseal. */
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
    const pairs: { readonly cut: number; readonly again: () => void; readonly way: Tampering }[] =
      [];
    const states = new Map<number, boolean>();
    for (let cut = 0, isCut = true; isCut; cut++) {
      reset();
      isCut = await isCutAfter(own, cut);
      const { rows } = own.kept.disk;
      const isDecided = rows.get("core/evidence/head") !== null;
      const isDone = isDecided && rows.get(COUNTS) === null;
      commits.push(Number(isDecided) + Number(isDone));
      states.set(cut, isDecided);
      const again = own.kept.saved();
      const isRemoved = rows.get(`${CLEAR}letter`) === null; // the removal has begun
      const ways = isRemoved ? EACH_KIND.slice(0, 1) : EACH_KIND;
      if (!isDone) pairs.push(...ways.map((way) => ({ cut, again, way })));
    }
    for (const { cut, again, way } of someOf(pairs, 16)) {
      again();
      if (sealedRows(own.kept).length === WAITING && own.kept.disk.rows.get(REPORT) !== null) {
        way.change(own.kept);
      }
      const sealedLeft = sealedRows(own.kept).length;
      await own.restart();
      try {
        await goesByTheLetter(own, states.get(cut) === true ? {} : way, sealedLeft);
        assert.equal(
          own.server.test.lines.some((line) => line.includes("evidence.refused")),
          false,
          "what is left of a removal was put there by nobody",
        );
      } catch (error) {
        throw new Error(`cut ${cut}, ${way.name}`, { cause: error });
      }
    }
    assert.ok(commits.filter((state) => state === 0).length > 2, String(commits));
    assert.ok(commits.filter((state) => state === 1).length > 2, String(commits));
  },
);

test(
  "what was put there for one attempt and taken away before the next is not in what the next keeps",
  BOUND,
  async (t) => {
    const own = await Exchanged.make(t);
    await own.server.test.stop();
    const { row } = forgedReport(2);
    const key = `${CLEAR}rows/reports/000000000002`;
    const genuine = Buffer.from(own.kept.disk.rows.get(key)!);
    own.kept.write([{ key, value: Buffer.from(JSON.stringify(row)) }]);
    const reset = own.kept.saved();
    let copied = 0;
    for (let cut = 0, isCut = true; isCut; cut++) {
      reset();
      isCut = await isCutAfter(own, cut);
      const { rows } = own.kept.disk;
      if (rows.get("core/evidence/head") !== null) return assert.ok(copied > 0);
      if (rows.get("core/evidence/earlier/000000000002") !== null) copied++;
      own.kept.write([{ key, value: genuine }]);
      await own.restart();
      await own.unseals();
      assert.deepEqual([...(await own.found()).values()], own.before, `cut ${cut}`);
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
      isCut = await isCutAfter(own, cut);
      const { rows } = own.kept.disk;
      const has = (key: string) => rows.get(key) !== null;
      if (has("core/evidence/head") && !has("core/evidence/ring") && !has(COUNTS)) withoutKey++;
      await own.restart();
      await own.unseals();
      await own.goesOn({ isLinked: false });
      await own.tells(WAITING + LEFT, UNKNOWN);
    }
    assert.ok(withoutKey > 0);
  },
);

test(
  "evidence of its own that is damaged fails the unseal, and nothing of what was carried is removed",
  BOUND,
  async (t) => {
    const own = await Exchanged.make(t);
    await own.restart();
    for (const place of ["core/evidence/head", "core/evidence/ring"]) {
      const before = own.kept.clear;
      own.kept.write([{ key: place, value: Buffer.from("no entry") }]);
      const body = { key: own.server.shares[0] };
      const failed = await own.server.test.call("POST", "/v1/sys/unseal", { body });
      assert.notEqual(failed.status, 200, failed.text);
      assert.deepEqual(own.kept.clear, before);
      assert.ok(!own.server.test.lines.some((line) => line.includes("evidence.refused")));
      remove(own.kept, [place]);
      await own.restart();
    }
    await goesByTheLetter(own, {}, WAITING);
  },
);
