// That a secondary hears at once which other members there are: it may have to take over before the next echo.

import assert from "node:assert/strict";
import test from "node:test";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { ReplicatedPair } from "../../../tests/support/replication/replicated-pair.ts";
import { until } from "../../../tests/support/until.ts";
import type { Sibling } from "./messages.ts";

const LYON: Sibling = {
  id: "lyon",
  cluster: "c",
  serials: ["5b"],
  addresses: ["c:8201"],
  digests: [],
};

test("of one that has come, of one that is elsewhere, and of one that is gone; and of nothing else", async (t) => {
  let members: readonly Sibling[] = [];
  let [latest, echoes]: [readonly Sibling[], number] = [[], 0];
  const pair = await ReplicatedPair.make({
    sender: { siblings: (id) => members.filter((one) => one.id !== id) },
    receiver: {
      learned: (_api, _cluster, { siblings }) => {
        latest = siblings;
        echoes++;
      },
    },
  });
  t.after(() => pair.close());
  pair.known = ["paris", "lyon"];
  pair.receiver.open();
  await pair.atRest();
  assert.equal(latest.length, 0);
  const comes = async () => {
    const link = pair.link("primary", "lyon");
    await link.open({ clusterId: "c", version: "0.1.0", epoch: 1 });
    await link.close();
  };
  members = [LYON];
  await comes();
  await until(() => latest.length === 1);
  assert.deepEqual(latest[0]?.addresses, ["c:8201"]);
  members = [{ ...LYON, addresses: ["d:8201"] }];
  await comes();
  await until(() => latest[0]?.addresses[0] === "d:8201");
  const before = echoes;
  await comes();
  for (let i = 0; i < 40; i++) await nextTurn();
  assert.equal(echoes, before, "nothing has changed");
  members = [];
  await pair.sender.drop("lyon", "revoked");
  await until(() => latest.length === 0);
});
