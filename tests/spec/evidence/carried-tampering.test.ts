// What is carried to data of other keys lies on the disk until somebody unseals, and whoever has the disk can do anything to
// it. While the process lives that made the exchange, it goes by what it holds: nobody is kept from unsealing, no number is
// used twice, nothing forged is believed, and what is left outside is told.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { SECOND } from "../../support/servers/engine-server.ts";
import { sendSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { until } from "../../support/until.ts";
import { BEFORE, COUNTS, Exchanged, LEFT, LETTER, WAITING } from "./exchanged-server.ts";
import { TAMPERINGS } from "./tamperings.ts";

const BOUND = { timeout: 300_000 };
const KNOWN = { isKnown: true };
/** That the snapshot has: two leases, of which one has a receipt. */
const STAYS = 1;

for (const { name, change, rows, lost = 0 } of TAMPERINGS) {
  test(`the process that made the exchange goes by what it holds: ${name}`, BOUND, async (t) => {
    const own = await Exchanged.make(t);
    change(own.kept);
    await own.unseals();
    const isGone = rows === false;
    assert.equal(await own.hasReports(), !isGone);
    const { server } = own;
    const logged = server.test.lines.filter((line) => line.includes("evidence.lost"));
    assert.equal(logged.length, isGone ? 1 : 0);
    const { text } = await server.must("GET", "sys/attention");
    assert.equal(text.includes("evidence.unproven"), isGone);
    await own.goesOn({ isLinked: true });
    assert.equal((await own.status()).adopted, WAITING - lost);
    await own.tells(LEFT + lost, KNOWN);
    const isOver = () => server.outside.objects.length === LEFT + lost + STAYS;
    await server.passUntil(isOver, 10n * SECOND);
    assert.equal(await server.isThere(own.known), true);
    assert.equal(await server.isThere(own.ended), isGone, "its receipt ends it again");
  });
}

test(
  "evidence of before the exchange is put back into its place: no number is signed twice",
  BOUND,
  async (t) => {
    const own = await Exchanged.running(t);
    const old = own.kept.below("core/evidence/");
    assert.equal(await own.stage.sign(), LETTER);
    await own.exchange();
    own.kept.write(old);
    await own.unseals();
    assert.ok(!own.server.test.lines.some((line) => line.includes("evidence.refused")));
    assert.equal(await own.stage.sign(), LETTER + 2, "behind the letter");
    await own.tells(LEFT, KNOWN);
  },
);

test(
  "other data is put in the place of that of the restore, and unsealed with its own share: nothing goes along to it",
  BOUND,
  async (t) => {
    const foreign = await Exchanged.make(t); // as an exchange leaves it, on somebody else's machine
    const own = await Exchanged.make(t);
    const carried = own.kept.rows();
    Object.assign(own.kept.disk, { rows: foreign.kept.disk.rows.copy() });
    own.kept.replaceClear(carried);
    await own.server.test.unseal(foreign.server.shares);
    assert.ok(own.server.test.lines.some((line) => line.includes("not that of the restore")));
    assert.ok(!own.server.test.lines.some((line) => line.includes("evidence.taken")));
    const token = foreign.server.root;
    const answer = await own.server.test.call("GET", "/v1/sys/evidence/keys", { token });
    const keys = at(answer, "data", "keys") as { fingerprint: string; unproven: boolean }[];
    const last = keys.at(-1);
    assert.equal(last?.unproven, false);
    assert.ok(
      keys.slice(0, -1).every(({ unproven }) => unproven),
      "none that the letter names signs",
    );
    const letter = carried.find(({ key }) => key.endsWith("/letter"));
    assert.ok(letter !== undefined && !Buffer.from(letter.value).includes(last.fingerprint));
  },
);

for (const place of ["head", "ring", "reports/000000000001"]) {
  test(
    `what nobody has sealed lies at core/evidence/${place}: what is held takes its place`,
    BOUND,
    async (t) => {
      const own = await Exchanged.make(t);
      own.kept.write([{ key: `core/evidence/${place}`, value: Buffer.from("no entry") }]);
      await own.unseals();
      assert.equal(await own.hasReports(), true);
      await own.goesOn({ isLinked: true });
      await own.tells(LEFT, KNOWN);
    },
  );
}

for (const restarts of [false, true]) {
  const when = restarts ? "after a restart" : "while the process lives";
  test(`counts of an earlier exchange hide nothing of this one, ${when}`, BOUND, async (t) => {
    const own = await Exchanged.running(t);
    const counts: Uint8Array[] = [];
    own.kept.seen = (data) => {
      for (const { key, value } of data) if (key === COUNTS && value !== null) counts.push(value);
    };
    await own.exchange();
    await own.unseals();
    own.kept.seen = () => {};
    assert.ok(counts.length > 1);
    await own.goOn();
    await own.exchange();
    if (restarts) await own.restart();
    own.kept.write([{ key: COUNTS, value: counts.at(-1)! }]);
    await own.unseals();
    assert.equal((await own.status()).adopted, restarts ? 0 : WAITING);
    const lines = own.server.test.lines.filter((line) => line.includes("restore.left"));
    assert.match(lines.at(-1) ?? "", restarts ? /left=3/ : /left=1/);
    assert.equal(await own.stage.sign(), LETTER + (restarts ? 3 : 2));
  });
}

test(
  "what fails after evidence was taken in goes on where it was, whatever becomes of the counts",
  BOUND,
  async (t) => {
    const note = "core/snapshots/left";
    for (const later of [null, Buffer.from("{}")]) {
      const own = await Exchanged.make(t);
      own.kept.seen = (data) => {
        if (data.every(({ key }) => key !== COUNTS)) return;
        own.kept.write([{ key: note, value: Buffer.from("no entry") }]);
      };
      const body = { key: own.server.shares[0] };
      const failed = await own.server.test.call("POST", "/v1/sys/unseal", { body });
      assert.notEqual(failed.status, 200, failed.text);
      own.kept.seen = () => {};
      assert.notEqual(own.kept.disk.rows.get(COUNTS), null);
      assert.notEqual(own.kept.disk.rows.get("core/evidence/head"), null);
      const removed = [note, ...own.kept.clear].map((key) => ({ key, value: null }));
      own.kept.write([...removed, { key: COUNTS, value: later }]);
      await own.server.time.passSlowly(2n * SECOND, SECOND); // as long as it keeps one waiting
      await own.unseals();
      assert.equal(await own.hasReports(), true);
      await own.goesOn({ isLinked: true });
      assert.equal((await own.status()).adopted, WAITING);
      await own.tells(LEFT, KNOWN);
    }
  },
);

test("a row that nobody here has sealed where the counts are is removed", BOUND, async (t) => {
  const own = await Exchanged.make(t);
  for (let i = 0; i < 2; i++) {
    own.kept.write([{ key: COUNTS, value: Buffer.from("{}") }]);
    await own.unseals();
    assert.equal(await own.hasReports(), true);
    await own.tells(LEFT, KNOWN);
    await own.restart();
  }
});

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
      if (!restarts) assert.equal(await own.hasReports(), true);
      assert.equal((await own.found()).size, BEFORE);
      await own.goesOn({ isLinked: !restarts });
      await own.tells(restarts ? WAITING + LEFT : LEFT, { isKnown: !restarts });
    }
  },
);

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
    await own.tells(0, KNOWN);
    assert.equal(await own.hasReports(), true);
    assert.equal(await own.stage.sign(), LETTER);
    const sixth = await own.stage.envelope(LETTER);
    own.kept.refusesSwitch = false;
    await own.exchange();
    await own.unseals();
    assert.deepEqual(await own.stage.envelope(LETTER), sixth, "this one alone has the number");
    assert.equal(await own.stage.sign(), LETTER + 2);
    await own.tells(LEFT, KNOWN);
  },
);
