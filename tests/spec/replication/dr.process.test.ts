// A primary and its secondary as processes: killed, cut off, and never anything lost that was acknowledged.

import assert from "node:assert/strict";
import test from "node:test";
import {
  ClusterProcess,
  equalProcesses,
  joinProcess,
  startPrimaryProcess,
} from "../../support/replication/cluster-process.ts";

test("R-90, R-91: either side is killed, and the link is cut: the secondary goes on where it was, and ends up equal", async (t) => {
  const [primary, secondary] = await Promise.all([startPrimaryProcess(t), ClusterProcess.start(t)]);
  for (let i = 0; i < 20; i++) assert.equal((await primary.put(`a-${i}`, "x")).status, 200);
  await joinProcess(primary, secondary);
  await equalProcesses(primary, secondary);
  await secondary.kill();
  for (let i = 0; i < 20; i++) assert.equal((await primary.put(`b-${i}`, "x")).status, 200);
  await secondary.startAgain();
  await equalProcesses(primary, secondary);
  await primary.kill();
  await primary.startAgain();
  assert.equal((await primary.put("c", "x")).status, 200);
  await equalProcesses(primary, secondary);
  primary.way.cut();
  assert.equal((await primary.put("d", "x")).status, 200);
  primary.way.heal();
  await equalProcesses(primary, secondary);
  assert.equal((await secondary.call("GET", "/v1/sys/health")).status, 472);
});
