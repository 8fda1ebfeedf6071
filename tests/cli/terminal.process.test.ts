// Prompts on a real terminal: a program of util-linux makes one. What is typed must not appear, and the
// terminal must be as before afterwards. Where that program is missing, the same is checked on a
// stream that acts as a terminal (commands.process.test.ts).

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { FakeServer } from "./fakes/fake-server.ts";

const hasScript = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;
const cli = join(import.meta.dirname, "..", "..", "src", "cli", "run.ts");

/** Runs the command line on a terminal; types the next line whenever a prompt appears. */
async function onTerminal(args: readonly string[], typed: readonly string[], address: string) {
  const home = mkdtempSync(join(tmpdir(), "holdfast-tty-"));
  const main = join(home, "main.ts");
  writeFileSync(
    main,
    `import { runCli } from ${JSON.stringify(cli)};
const { env, stdin, stdout, stderr } = process;
process.exitCode = await runCli(process.argv.slice(2), { env, stdin, stdout, stderr });\n`,
  );
  const command = [process.execPath, main, ...args].map((word) => `'${word}'`).join(" ");
  const child = spawn(
    "script",
    ["-q", "-e", "-c", `${command}; code=$?; stty -a; exit $code`, "/dev/null"],
    {
      env: { ...process.env, HOME: home, HOLDFAST_ADDR: address, NO_COLOR: "1" },
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  const lines = [...typed];
  let seen = "";
  let answered = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    seen += text;
    const prompts = seen.split("(not shown): ").length - 1;
    while (answered < prompts) {
      answered++;
      child.stdin.write(`${lines.shift() ?? "\u0004"}\r`);
    }
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  rmSync(home, { recursive: true, force: true });
  return { code, seen };
}

if (hasScript) {
  test("shares typed at a terminal are not shown, and echo is on again afterwards", async () => {
    const server = (await FakeServer.start()).opened(["canary-share-a", "canary-share-b"], 2);
    server.sealed = true;
    const typed = ["canary-share-a", "canary-share-b"];
    const { code, seen } = await onTerminal(["operator", "unseal"], typed, server.address);
    const { sealed } = server;
    await server.stop();
    assert.equal(code, 0, seen);
    assert.equal(sealed, false);
    assert.ok(!seen.includes("canary"), seen);
    assert.match(seen, /\[#+-+\] 1\/2/);
    assert.match(seen, /(?<!-)\becho\b/, "stty says that what is typed is shown again");
    assert.match(seen, /(?<!-)\bicanon\b/);
  });

  test("Ctrl-C at a prompt ends with 130 and leaves the terminal as it was", async () => {
    const server = (await FakeServer.start()).opened();
    const { code, seen } = await onTerminal(["login"], ["half\u0003"], server.address);
    await server.stop();
    assert.equal(code, 130, seen);
    assert.ok(!seen.includes("half"));
    assert.match(seen, /(?<!-)\becho\b/);
  });

  test("a value given as name=- is asked for and not shown, and so is a share given as -", async () => {
    const server = (await FakeServer.start()).opened(["canary-share-a", "share-b"], 2);
    server.instead.set("POST auth/userpass/users/ada", { status: 204 });
    const args = ["write", "auth/userpass/users/ada", "password=-"];
    const { code, seen } = await onTerminal(args, ["canary horse", "canary horse"], server.address);
    assert.equal(code, 0, seen);
    assert.match(seen, /password \(not shown\): /);
    assert.deepEqual(server.seen.at(-1)?.body, { password: "canary horse" });
    server.sealed = true;
    const share = await onTerminal(["operator", "unseal", "-"], ["canary-share-a"], server.address);
    await server.stop();
    assert.equal(share.code, 0, share.seen);
    assert.equal(server.unsealShares.size, 1);
    for (const one of [seen, share.seen]) {
      assert.ok(!one.includes("canary"), one);
      assert.match(one, /(?<!-)\becho\b/);
    }
  });
}
