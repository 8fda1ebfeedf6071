// The Dockerfile without an engine for containers: what it copies of what .dockerignore leaves is laid out in a
// directory, and its command starts a server there that its health check finds.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  globSync,
  readdirSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, matchesGlob } from "node:path";
import { test, type TestContext } from "node:test";
import { adapted } from "../support/page.ts";
import { ROOT, StartedServer } from "../support/servers/started-server.ts";

const DOCKERFILE = readFileSync(join(ROOT, "Dockerfile"), "utf8").replaceAll("\\\n", " ");
const RULES = readFileSync(join(ROOT, ".dockerignore"), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"));

/** Names with a dot in front are no exception here: `*` fits them. */
function fits(path: string, pattern: string): boolean {
  return matchesGlob(path.replace(/(^|\/)\./g, "$1_"), pattern);
}

/** The last rule that fits a path or a directory above it decides. */
function sent(path: string): boolean {
  let ignored = false;
  for (const rule of RULES) {
    const pattern = rule.replace(/^!/, "");
    if (above(path).some((one) => fits(one, pattern))) ignored = !rule.startsWith("!");
  }
  return !ignored;
}

function above(path: string): string[] {
  const parts = path.split("/");
  return parts.map((_, at) => parts.slice(0, at + 1).join("/"));
}

/** The last instruction of that name, in its form as a list. */
function listOf(instruction: string): string[] {
  const [, text = "[]"] =
    new RegExp(`^${instruction} [^[\\n]*(\\[.*\\])$`, "m").exec(DOCKERFILE) ?? [];
  return JSON.parse(text) as string[];
}

/** What the last stage copies from the context. */
function copies(): { readonly from: string; readonly to: string }[] {
  const stage = DOCKERFILE.slice(DOCKERFILE.lastIndexOf("\nFROM "));
  return [...stage.matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, words = ""]) => {
    const paths = words.split(/\s+/);
    const to = paths.pop() ?? "";
    return paths.map((from) => ({ from, to: to.endsWith("/") ? join(to, basename(from)) : to }));
  });
}

function laidOut(t: TestContext): { root: string; here: (text: string) => string } {
  const root = mkdtempSync(join(tmpdir(), "holdfast-image-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const { from, to } of copies()) {
    const all = statSync(join(ROOT, from)).isDirectory()
      ? globSync(`${from}/**`, { cwd: ROOT }).filter((path) => statSync(join(ROOT, path)).isFile())
      : [from];
    const files = all.filter(sent);
    assert.ok(files.length > 0, `.dockerignore leaves nothing of ${from}`);
    for (const file of files) {
      const place = join(root, to, file.slice(from.length));
      mkdirSync(dirname(place), { recursive: true });
      cpSync(join(ROOT, file), place);
    }
  }
  // Installed by the first stage, from the registry.
  // Packages of others are this machine's; the house's own are those of the image.
  const packages = join(root, "opt/holdfast/node_modules");
  mkdirSync(join(packages, "@holdfast"), { recursive: true });
  for (const name of readdirSync(join(ROOT, "node_modules"))) {
    if (name !== "@holdfast") symlinkSync(join(ROOT, "node_modules", name), join(packages, name));
  }
  for (const name of readdirSync(join(ROOT, "node_modules", "@holdfast"))) {
    symlinkSync(join("..", "..", name), join(packages, "@holdfast", name));
  }
  for (const name of ["data", "etc/holdfast"]) mkdirSync(join(root, name), { recursive: true });
  chmodSync(join(root, "data"), 0o700);
  const places = ["/opt/holdfast", "/etc/holdfast", "/data"].map(
    (at) => [at, join(root, at)] as const,
  );
  return { root, here: (text) => adapted(text, places) };
}

test("the context has what an image needs, and nothing of this machine", () => {
  for (const path of ["node_modules/.bin/node", ".git/config", "tests/house.test.ts", "data/x"]) {
    assert.ok(!sent(path), path);
  }
  assert.ok(!sent("src/config/load.test.ts"));
  for (const path of ["src/main.ts", "bin/holdfast", "package-lock.json"])
    assert.ok(sent(path), path);
});

test("what the image holds is enough for its command, and its health check finds the server", async (t) => {
  const { root, here } = laidOut(t);
  const configuration = join(root, "opt/holdfast/container.hcl");
  writeFileSync(configuration, here(readFileSync(configuration, "utf8")));
  const listener = 'listener "tcp" { address = "127.0.0.1:0" tls_disable = true }\n';
  writeFileSync(join(root, "etc/holdfast/h.hcl"), listener);
  const command = [...listOf("ENTRYPOINT"), ...listOf("CMD")].map(here);
  const server = await new StartedServer(t, root, command).ready();

  const [, address = ""] = /^ENV HOLDFAST_ADDR=(\S+)$/m.exec(DOCKERFILE) ?? [];
  const [program = "", ...args] = listOf("HEALTHCHECK").map(here);
  const env = { PATH: process.env["PATH"], HOME: "/nonexistent", HOLDFAST_ADDR: here(address) };
  const healthy = () => spawnSync(program, args, { env, encoding: "utf8" });
  const up = healthy();
  assert.equal(up.status, 0, up.stderr);
  assert.equal(await server.stop(), 0);
  assert.equal(healthy().status, 1, "a server that does not answer is not well");
});

test("the image does not run as root", () => {
  const [, user = ""] = /^USER (\S+)$/m.exec(DOCKERFILE) ?? [];
  assert.match(user, /^[1-9]\d+:[1-9]\d+$/, "by number, so that an orchestrator can tell");
});
