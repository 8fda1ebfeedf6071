// What a server loads at its start: none of the clouds' libraries, though both engines are mounted, and nothing of plugins. The
// first call to a provider does, and the first mount of a plugin.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const MAIN = join(import.meta.dirname, "..", "..", "src", "main.ts");
const TOKEN = "root-of-the-loading-test";

// Tells of every module of theirs that is resolved.
const HOOK = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({
    resolve(name, context, next) {
      if (/^@(aws-sdk|smithy|azure)\\/|plugin-sdk\\/wire\\/|(foreign-mount|own-sdk|child-processes)\\.ts$|process\\/plugin-processes\\.ts$/.test(name)) console.error("loaded " + name);
      return next(name, context);
    },
  });
`)}`;

test("X3: a server with both mounts idle has loaded no cloud's library, and nothing of plugins", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-loading-"));
  const flags = ["server", "--dev", "--dev-listen-address", "127.0.0.1:0"];
  const child = spawn(
    process.execPath,
    ["--import", HOOK, MAIN, ...flags, "--dev-root-token-id", TOKEN],
    { env: { PATH: process.env["PATH"], HOME: home }, stdio: ["ignore", "pipe", "pipe"] },
  );
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  t.after(async () => {
    child.kill("SIGKILL");
    await ended;
    rmSync(home, { recursive: true, force: true });
  });
  let text = "";
  const address = await new Promise<string>((resolve, reject) => {
    const take = (data: Buffer) => {
      text += data.toString("utf8");
      const found = /ready: .*addresses=(http:\S+)/.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    void ended.then(() => reject(new Error(`it ended: ${text}`)));
  });
  const ask = (method: string, path: string, body?: object) =>
    fetch(`${address}/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const mounts = (await (await ask("GET", "sys/mounts")).json()) as { readonly data: object };
  for (const name of ["clouda/", "cloudb/"]) assert.ok(name in mounts.data, name);
  const written = await ask("POST", "clouda/config/root", {
    access_key: "AKIA",
    secret_key: "secret",
    iam_endpoint: "http://127.0.0.1:1",
    sts_endpoint: "http://127.0.0.1:1",
    max_retries: 0,
  });
  assert.equal(written.status, 204);
  assert.doesNotMatch(text, /loaded /);
  assert.equal((await ask("POST", "clouda/config/check")).status, 200);
  // What it has printed may be a moment behind what it has answered.
  while (!/loaded @aws-sdk\/client-iam/.test(text)) await once(child.stderr, "data");
});
