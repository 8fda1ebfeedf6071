// T-N08: no request ends the server. Requests that are changed, cut and put together wrongly, against a
// whole server, with a token that may do anything. Longer runs: soak/hostile/fuzz-http.ts, soak/hostile/fuzz-server.ts.

import assert from "node:assert/strict";
import test from "node:test";
import { mutatedRequest, segments } from "../../../soak/hostile/http-mutations.ts";
import { Prng } from "../../../sim/prng.ts";
import { nextTurn } from "../../support/fake-world.ts";
import { scene } from "../scene.ts";

const TURNS = 40; // after so many without an answer it was no whole request

test("T-N08: whatever bytes come, the server answers below 500 or hangs up, and goes on", async (t) => {
  const stage = await scene(t);
  const faults: string[] = [];
  const note = (error: unknown) => void faults.push(String(error));
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, note);
    t.after(() => void process.off(event, note));
  }
  const random = new Prng(20_261_108);
  const tally = new Map<number, number>();
  for (let i = 0; i < 1_500; i++) {
    // Most of them say who asks; with the right word there they get further.
    const text = mutatedRequest(random)
      .replace("X-Vault-Token: abc", `X-Vault-Token: ${stage.root}`)
      .replace("Bearer abc", `Bearer ${stage.root}`);
    const client = await stage.connect();
    for (const segment of segments(text, random)) await client.send(segment);
    for (let turn = 0; turn < TURNS; turn++) {
      const answer = client.peek(text.startsWith("HEAD"));
      if (answer !== null) {
        tally.set(answer.status, (tally.get(answer.status) ?? 0) + 1);
        assert.ok(answer.status < 500, `${answer.status} after ${JSON.stringify(text)}`);
        break;
      }
      if (client.ended) break;
      await nextTurn();
    }
    client.destroy();
  }
  assert.deepEqual(faults, []);
  const counts = [200, 400].map((status) => tally.get(status) ?? 0);
  assert.ok(Math.min(...counts) > 30, `good ones among bad ones: ${counts.join()}`);
  const health = await stage.server.call("GET", "/v1/sys/health");
  assert.equal(health.status, 200, "unsealed, as it was");
  await stage.must("POST", "/v1/sys/namespaces/after");
});
