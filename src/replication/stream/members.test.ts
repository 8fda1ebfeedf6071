import assert from "node:assert/strict";
import test from "node:test";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { quietEcho } from "../../../tests/support/replication/quiet-echo.ts";
import { type Hello, NO_STANDING } from "../../cluster/hello.ts";
import { leftIds, Member } from "./members.ts";

const HELLO: Hello = {
  ...NO_STANDING,
  set: "s",
  kind: "dr",
  secondaryId: "paris",
  clusterId: "c",
  protocol: 1,
  version: "1",
};

test("two that come by turns are two; one that comes in the place of another is one", () => {
  const member = new Member("paris", HELLO, 0n);
  let now = 0n;
  const status = () => member.status(now, 0n, () => 0n);
  const doubled = (instance: string) => {
    now += 5n * SECOND;
    member.echo(quietEcho(instance), null, now, instance === "one" ? "10.0.0.9" : "10.0.0.1");
    return status().isDoubled;
  };
  assert.equal(doubled("one"), false);
  assert.equal(doubled("one"), false);
  assert.equal(doubled("two"), false, "it was started anew");
  assert.equal(doubled(""), false, "an older version does not say which it is");
  assert.equal(doubled("two"), false);
  assert.deepEqual(status().doubledFrom, []);
  assert.equal(doubled("one"), true);
  assert.deepEqual(status().doubledFrom, ["10.0.0.1", "10.0.0.9"]);
  assert.equal(doubled("two"), true);
  assert.deepEqual(status().doubledFrom, ["10.0.0.1", "10.0.0.9"]);
  now += MINUTE;
  assert.equal(doubled("two"), false, "the other one was stopped");
  assert.deepEqual(status().doubledFrom, []);
});

test("what a member says of itself is shown in printable characters, and not without end", () => {
  const member = new Member("paris", HELLO, 0n);
  const text = `\u001b[31mrun this\n\u202e${"x".repeat(1000)}`;
  const said = { state: text, apiAddress: text, clusterAddresses: [text], version: text };
  member.echo({ ...quietEcho("one"), ...said, keysVersion: text }, null, 0n);
  const { state, apiAddress, clusterAddresses, version, keysVersion } = member.status(
    0n,
    0n,
    () => 0n,
  );
  for (const one of [state, apiAddress, ...clusterAddresses, version, keysVersion]) {
    assert.match(one, /^\?\[31mrun this\?\?x{1,256}$/);
    assert.ok(one.length <= 256);
  }
});

test("what a member has acknowledged stays so until it takes over rows: then nothing counts as there, and the log is kept from where it began", () => {
  const member = new Member("paris", HELLO, 0n);
  assert.equal(member.needed, null, "it has said nothing yet");
  member.begin(5n);
  member.acknowledge(9n);
  member.acknowledge(7n);
  assert.deepEqual([member.acknowledged, member.needed], [9n, 10n], "never back");
  member.pin(20n);
  assert.deepEqual([member.acknowledged, member.needed, member.pinned], [null, 20n, 20n]);
  member.begin(22n);
  assert.deepEqual([member.acknowledged, member.needed, member.pinned], [22n, 23n, null]);
});

test("a cluster is where it came last; who is connected is left by nobody, and of whom nothing is known neither", () => {
  const used = ["c", "c2", "c4"].map((id) => ({ id, cluster: "paris" }));
  const met = (id: string, lastHeartbeat: bigint, isConnected = false) => ({
    id,
    lastHeartbeat,
    isConnected,
  });
  const left = (...members: readonly ReturnType<typeof met>[]) => [...leftIds(used, members)];
  assert.deepEqual(left(), [], "none has come since the start");
  assert.deepEqual(left(met("c4", 9n, true)), ["c", "c2"]);
  assert.deepEqual(left(met("c4", 9n)), ["c", "c2"], "it is away");
  assert.deepEqual(left(met("c", 1n), met("c2", 5n), met("c4", 9n, true)), ["c", "c2"]);
  assert.deepEqual(left(met("c", 12n), met("c4", 9n)), ["c2", "c4"], "an old disk was started");
  assert.deepEqual(left(met("c", 8n, true), met("c4", 9n, true)), ["c2"], "one is a copy");
  const strangers = ["d", "e"].map((id) => ({ id, cluster: "" }));
  assert.deepEqual([...leftIds(strangers, [met("e", 9n, true)])], []);
});
