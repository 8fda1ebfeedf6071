// Promotions behind links that are slow, or come to a stop: processes with real TLS between them, through proxies.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { at } from "../../support/http-client.ts";
import {
  ClusterProcess,
  equalProcesses,
  joinProcess,
  startPrimaryProcess,
} from "../../support/replication/cluster-process.ts";
import { until } from "../../support/until.ts";

const KIB = 1024;

test("a secondary that is back after its primary wrote without it is not promoted before it has what that one's head says", async (t) => {
  const [a, b] = await Promise.all([startPrimaryProcess(t), ClusterProcess.start(t)]);
  await joinProcess(a, b);
  await equalProcesses(a, b);
  const token = await b.operationToken();
  const promote = () => b.operate("promote", {}, token);
  a.way.cut();
  await until(async () => (await b.status())["state"] === "idle");
  const { last_remote_wal: had } = await b.status();
  for (let i = 0; i < 16; i++) {
    assert.equal((await a.put(`large-${i}`, "x".repeat(64 * KIB))).status, 200);
  }
  const { last_dr_wal: head } = await a.status();
  const missing = `check \\"complete\\": entries ${Number(had) + 1} to ${Number(head)} of the primary are missing here`;

  // It hears the first answer of the primary, and of the log at most a part of a message.
  a.way.heal();
  a.way.hold("back", { after: 8 * KIB });
  const recovered = await b.operate("recover", {}, token);
  assert.ok(recovered.status < 300, recovered.text);
  const refused = async (): Promise<string> => {
    const { headers, text } = await promote();
    assert.match(String(headers["x-service-error"]), /^replication_promotion_/, text);
    return text;
  };
  await until(async () => (await refused()).includes(missing));
  await a.kill();
  await until(async () => (await b.status())["state"] === "idle");
  assert.ok((await refused()).includes(missing), "the primary is gone, and what it had is known");
  const rehearsed = await b.operate("promote", { dry_run: true }, token);
  assert.equal(at(rehearsed, "data", "ready"), false, rehearsed.text);
  assert.equal((await b.status())["mode"], "secondary");

  a.way.heal();
  await a.startAgain();
  await b.operate("recover", {}, token);
  await equalProcesses(a, b);
  const demoted = await a.dr("primary/demote");
  assert.equal(demoted.status, 200, demoted.text);
  const promoted = await promote();
  assert.equal(promoted.status, 200, promoted.text);
  assert.equal(await b.value("large-15"), "x".repeat(64 * KIB));
});

/** Whether another secondary is known to this one: it says so of who does not answer. */
async function knows(one: ClusterProcess, other: ClusterProcess, token: string): Promise<void> {
  other.way.cut();
  await until(async () => {
    const { text } = await one.operate("promote", { dry_run: true }, token);
    return text.includes(`:${other.way.port}, did not answer`);
  });
  other.way.heal();
}

/** A primary that was demoted and is gone, and two secondaries that know of each other, 200 ms apart. */
async function farApart(t: TestContext) {
  const [a, b, c] = await Promise.all([
    startPrimaryProcess(t),
    ClusterProcess.start(t),
    ClusterProcess.start(t),
  ]);
  await joinProcess(a, b, "site-b");
  await joinProcess(a, c, "site-c");
  for (const one of [b, c]) await equalProcesses(a, one);
  const tokens = await Promise.all([b, c].map((one) => one.operationToken()));
  await knows(b, c, tokens[0]!);
  await knows(c, b, tokens[1]!);
  const demoted = await a.dr("primary/demote");
  assert.equal(demoted.status, 200, demoted.text);
  assert.match(demoted.text, /(?<!NOT )everything is on: site-b, site-c/);
  await a.kill();
  for (const one of [b, c]) one.way.delay(200);
  return { clusters: [b, c], tokens };
}

/** A machine that is so slow that nobody answers anybody in time shows nothing of this: then it is tried with others. */
async function promotedTogether(t: TestContext, triesLeft = 2) {
  const { clusters, tokens } = await farApart(t);
  const answers = await Promise.all(
    clusters.map((one, i) => one.operate("promote", {}, tokens[i])),
  );
  const nobodyHeard = answers.every(
    ({ status, text }) =>
      status === 200 && /another secondary of the set.* did not answer/.test(text),
  );
  if (nobodyHeard && triesLeft > 0) return await promotedTogether(t, triesLeft - 1);
  return { clusters, answers };
}

test("of two secondaries that are promoted together, 200 ms apart each way, one at most becomes the primary, and the other names it", async (t) => {
  const { clusters, answers } = await promotedTogether(t);
  const promoted = answers.filter(({ status }) => status === 200);
  assert.ok(promoted.length <= 1, answers.map(({ text }) => text).join("\n"));
  for (const { status, text } of answers) {
    if (status === 200) continue;
    assert.ok(status >= 400 && status < 500, text);
    assert.match(
      text,
      /check \\"siblings\\": .*site-[bc].* (is about to be promoted|leads the set)/,
    );
  }
  const modes = await Promise.all(clusters.map(async (one) => (await one.status())["mode"]));
  assert.deepEqual(
    modes,
    answers.map(({ status }) => (status === 200 ? "primary" : "secondary")),
  );
});
