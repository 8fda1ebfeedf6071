// T-B21: how long a comparison takes must not tell how much of a guess was right. Times themselves are
// too noisy to test; what is tested is that every secret goes through a comparison without such a time.

import assert from "node:assert/strict";
import crypto from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { secretComparison } from "../../house/request-target.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { scene, visible } from "../scene.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");

/** Counts comparisons without a telling time, everywhere in this process. */
function comparisons(t: TestContext): () => number {
  const { timingSafeEqual } = crypto;
  let count = 0;
  crypto.timingSafeEqual = (a, b) => {
    count++;
    return timingSafeEqual(a, b);
  };
  syncBuiltinESMExports();
  t.after(() => {
    crypto.timingSafeEqual = timingSafeEqual;
    syncBuiltinESMExports();
  });
  return () => count;
}

/** Wrong in its first character, in its last, and in all of them. */
function guesses(secret: string): string[] {
  const other = (text: string) => text.replaceAll(/[0-9a-z]/gi, (it) => (it === "0" ? "1" : "0"));
  return [
    other(secret.slice(0, 1)) + secret.slice(1),
    secret.slice(0, -1) + other(secret.slice(-1)),
    other(secret),
  ];
}

test("T-B21: nonces and passwords are compared in a time that tells nothing, right or wrong", async (t) => {
  const stage = await scene(t);
  const count = comparisons(t);
  const { root: token } = stage;
  const counted = async (request: () => Promise<Answer>): Promise<[Answer, number]> => {
    const before = count();
    return [await request(), count() - before];
  };
  const alike = async (secret: string, right: number, ask: (sent: string) => Promise<Answer>) => {
    const seen = new Set<string>();
    for (const guess of guesses(secret)) {
      assert.notEqual(guess, secret);
      const [answer, made] = await counted(() => ask(guess));
      assert.ok(answer.status >= 400 && answer.status < 500 && made > 0, `${answer.text} ${made}`);
      const text = JSON.stringify(visible(answer)).replaceAll(/"request_id":"[^"]*"/g, "");
      seen.add(`${made} comparisons: ${text}`);
    }
    assert.equal(seen.size, 1, [...seen].join("\n"));
    const [answer, made] = await counted(() => ask(secret));
    assert.equal(answer.status, right, answer.text);
    assert.ok(made > 0);
  };
  for (const path of ["/v1/sys/generate-root/attempt", "/v1/sys/rekey/init"]) {
    const body = path.includes("rekey") ? { secret_shares: 1, secret_threshold: 1 } : {};
    const started = await stage.must("POST", path, { body });
    await alike(String(at(started, "cancel_nonce")), 204, (cancel_nonce) =>
      stage.server.call("DELETE", path, { body: { cancel_nonce } }),
    );
  }
  await stage.must("POST", "/v1/sys/auth/people", { body: { type: "userpass" } });
  const password = "correct horse battery 0";
  await stage.must("POST", "/v1/auth/people/users/ann", { body: { password } });
  await alike(password, 200, (sent) =>
    stage.server.call("POST", "/v1/auth/people/login/ann", { body: { password: sent } }),
  );
  // Tokens are found by a keyed hash: what is wrong where changes all of it, and nothing is compared.
  const secret = await stage.client(["default"]);
  const path = "/v1/auth/token/lookup-self";
  const answers = await Promise.all(
    guesses(secret).map(
      async (guess) => (await stage.server.call("GET", path, { token: guess })).status,
    ),
  );
  assert.deepEqual(answers, [403, 403, 403]);
  assert.equal((await stage.server.call("GET", path, { token })).status, 200);
});

test("T-B21: nothing that is a secret is compared with an operator", () => {
  const planted = "if (token.secret.reveal() === given) return true;";
  assert.equal(secretComparison("src/tokens/a.ts", planted).length, 1);
  const files = globSync("src/**/*.ts", { cwd: ROOT });
  assert.ok(files.length > 500);
  const found = files.flatMap((path) =>
    secretComparison(path, readFileSync(join(ROOT, path), "utf8")),
  );
  assert.deepEqual(found, []);
});
