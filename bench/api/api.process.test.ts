import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { text } from "node:stream/consumers";
import { targetOf } from "./api-target.ts";

const PROGRAM = join(import.meta.dirname, "..", "run.ts");
const TOKEN = "token-of-the-peer";

interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Its current directory, with `home` in it. */
  readonly directory: string;
}

/** Not synchronous: a peer of the test answers meanwhile. */
async function bench(t: TestContext, ...args: string[]): Promise<Ran> {
  const directory = mkdtempSync(join(tmpdir(), "hf-bench-test-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const home = join(directory, "home");
  mkdirSync(home);
  const all = [PROGRAM, "--quick", "--directory", join(directory, "data"), ...args];
  const child = spawn(process.execPath, all, {
    cwd: directory,
    env: { ...process.env, HOME: home },
    timeout: 120_000,
  });
  const ended = once(child, "exit");
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [status] = await ended;
  return { status, stdout, stderr, directory };
}

function lineOf(output: string, part: string): string[] {
  const line = output.split("\n").find((candidate) => candidate.includes(part));
  assert.ok(line, `no line has ${part} in:\n${output}`);
  return line.trim().split(/ {2,}/);
}

/** Another server with the same API, as far as it is asked here. */
async function peer(t: TestContext, status = 200) {
  const requests: { what: string; token: string | undefined; namespace: string }[] = [];
  const server = createServer((request, response) => {
    const token = request.headers["x-vault-token"]?.toString();
    const namespace = request.url?.replace("/v1/sys/namespaces/", "") ?? "";
    requests.push({ what: request.method ?? "", token, namespace });
    request.resume().on("end", () => {
      response.statusCode = status;
      response.end('{"data":{}}');
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  return { url: `http://127.0.0.1:${address.port}`, asked: requests };
}

test("the rows of the API start the server themselves and leave nothing behind", async (t) => {
  const { status, stdout, stderr, directory } = await bench(t, "api");
  assert.equal(status, 0, stderr + stdout);
  for (const name of ["api/ready", "api/writes", "api/reads"]) {
    const [, , unit, result] = lineOf(stdout, name);
    assert.equal(unit, name === "api/ready" ? "ms" : "/s");
    assert.match(result ?? "", /^[\d,.]+$/);
  }
  assert.ok(Number(lineOf(stdout, "RSS")[2]) > 10);
  assert.equal(lineOf(stdout, "latency p99")[1], "ms");
  assert.doesNotMatch(stdout, /theirs|Compared/);
  assert.deepEqual(readdirSync(join(directory, "data")), []);
  assert.deepEqual(readdirSync(join(directory, "home")), []); // no token of the dev server
});

test("--target runs the same load at another server and shows the ratios", async (t) => {
  const { url, asked: requests } = await peer(t);
  const args = ["api/writes", "--target", url, "--token", TOKEN, "--json", "figures.json"];
  const { status, stdout, stderr, directory } = await bench(t, ...args);
  assert.equal(status, 0, stderr + stdout);
  assert.match(stdout, new RegExp(`^Compared with ${url}$`, "m"));
  assert.equal(lineOf(stdout, "the target  ")[1], "/s");
  const [, unit, ratio] = lineOf(stdout, "ours / theirs, rate");
  assert.equal(unit, "×");

  const json = readFileSync(join(directory, "figures.json"), "utf8");
  const { rows, target } = JSON.parse(json);
  assert.equal(target, url);
  const theirs = rows[0].also.find(({ what }: { what: string }) => what === "the target").median;
  assert.ok(Math.abs(rows[0].median / theirs / Number(ratio?.replaceAll(",", "")) - 1) < 0.05);
  assert.doesNotMatch(json + stdout + stderr, new RegExp(TOKEN));

  assert.ok(requests.every(({ token }) => token === TOKEN));
  const made = requests.slice(0, 8);
  const removed = requests.slice(-8);
  const names = made.map(({ namespace }) => namespace);
  assert.equal(new Set(names).size, 8);
  assert.deepEqual(
    removed.map(({ what, namespace }) => `${what} ${namespace}`),
    names.map((name) => `DELETE ${name}`),
  );
  const load = requests.slice(8, -8);
  assert.ok(load.length > 16 && load.every(({ what }) => what === "POST"));
  assert.deepEqual(new Set(load.map(({ namespace }) => namespace)), new Set(names));
});

test("a target that refuses fails the row with its reason", async (t) => {
  const { url } = await peer(t, 403);
  const { status, stdout } = await bench(t, "api/reads", "--target", url, "--token", TOKEN);
  assert.equal(status, 1);
  assert.equal(lineOf(stdout, "api/reads").at(-1), "failed");
  assert.match(stdout, /POST sys\/namespaces\/\S+ was answered 403/);
});

test("--profile has the server's profile beside the load generator's", async (t) => {
  const { status, stdout, stderr, directory } = await bench(
    t,
    "api/reads",
    "--profile",
    "profiles",
  );
  assert.equal(status, 0, stderr + stdout);
  const profiles = readdirSync(join(directory, "profiles")).map((name) => {
    return readFileSync(join(directory, "profiles", name), "utf8");
  });
  const having = (part: string) => profiles.filter((profile) => profile.includes(part)).length;
  assert.ok(having("bench/load/load-connection.ts") > 0);
  assert.ok(having("src/core/pipeline.ts") > 0);
});

test("a target needs an address without TLS or a path, and a token", () => {
  assert.equal(targetOf(undefined, undefined), undefined);
  const target = { url: "http://peer:8200", token: "t" };
  assert.deepEqual(targetOf("http://peer:8200/", "t"), target);
  assert.throws(() => targetOf("http://peer:8200", undefined), /belong together/);
  assert.throws(() => targetOf(undefined, "t"), /belong together/);
  for (const wrong of ["peer:8200", "https://peer", "http://peer/v1", "http://peer/?a=b", ""]) {
    assert.throws(() => targetOf(wrong, "t"), /is an address such as/, wrong);
  }
  assert.throws(
    () => targetOf("http://peer", "a\r\nb"),
    (error: Error) => {
      return /no header can carry/.test(error.message) && !error.message.includes("a\r\nb");
    },
  );
});
