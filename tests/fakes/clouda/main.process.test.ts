import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { RawClient } from "./raw-client.ts";
import { succeeded } from "./started.ts";

test("as a process it says where it is in one line, and ends with its input", async (t) => {
  const main = fileURLToPath(new URL("main.ts", import.meta.url));
  const child = spawn(process.execPath, [main], { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill());
  const ended = once(child, "exit");
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const { url, ...keys } = JSON.parse(line) as {
    url: string;
    accessKeyId: string;
    secretAccessKey: string;
  };
  succeeded(await new RawClient(url, keys).send("GetCallerIdentity"));
  child.stdin.end();
  assert.deepEqual(await ended, [0, null]);
});
