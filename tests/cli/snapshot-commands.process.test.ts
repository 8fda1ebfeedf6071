// `holdfast snapshot …` against the server itself: what lands in files, and what people read.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import {
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { startServer } from "../support/servers/test-server.ts";
import { makeHome, run } from "./harness.ts";

async function stage(t: TestContext) {
  const server = await startServer();
  t.after(() => server.stop());
  const opened = await server.open(3, 2);
  const home = makeHome((call) => t.after(call));
  const env = { HOLDFAST_ADDR: server.url, HOLDFAST_TOKEN: opened.token, HOME: home };
  const cli = (...args: string[]) => run(["snapshot", ...args], { env });
  return { server, home, env, cli, ...opened, file: join(home, "a.snap") };
}

test("save puts a whole private file under its name, and does not take another's place unasked", async (t) => {
  const { cli, file, home } = await stage(t);
  const saved = await cli("save", file);
  assert.equal(saved.code, 0, saved.all);
  assert.match(saved.stdout, /^Created +\S+/m);
  assert.match(saved.stdout, /Success! .* entries are in /);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(
    readdirSync(home).filter((name) => name.includes("snap")),
    ["a.snap"],
  );
  const before = readFileSync(file);
  const again = await cli("save", file);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /is there already[^]*-force/);
  assert.deepEqual(readFileSync(file), before);
  assert.equal((await cli("save", "-force", file)).code, 0);
  assert.notDeepEqual(readFileSync(file), before);
  const json = await run(["snapshot", "save", "-format", "json", join(home, "b.snap")], {
    env: (await stage(t)).env,
  });
  assert.equal(JSON.parse(json.stdout).file, join(home, "b.snap"));
});

test("where the file cannot be made nothing is requested, and the command ends", async (t) => {
  const { cli, home, server } = await stage(t);
  const before = server.lines.length;
  const saved = await cli("save", join(home, "no-such", "a.snap"));
  assert.equal(saved.code, 1);
  assert.match(saved.stderr, /there is no directory .*no-such\n.*mkdir -p -m 700 .*no-such/);
  assert.deepEqual(
    server.lines.slice(before).filter((line) => line.includes("snapshot")),
    [],
  );
});

test("what breaks off leaves nothing behind, whatever it came to", async (t) => {
  const { home, env, file, cli } = await stage(t);
  await cli("save", file);
  const whole = readFileSync(file);
  // A server that ends in the middle.
  const cut = createServer((socket) => {
    socket.once("data", () => {
      const head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/gzip\r\nTransfer-Encoding: chunked\r\n\r\n";
      const piece = whole.subarray(0, whole.length >> 1);
      socket.write(`${head}${piece.length.toString(16)}\r\n`);
      socket.write(piece);
      socket.end("\r\n");
    });
  });
  await new Promise<void>((resolve) => cut.listen(0, "127.0.0.1", resolve));
  t.after(() => cut.close());
  const { port } = cut.address() as { port: number };
  const broken = await run(["snapshot", "save", join(home, "c.snap")], {
    env: { ...env, HOLDFAST_ADDR: `http://127.0.0.1:${port}` },
  });
  assert.notEqual(broken.code, 0);
  // And one that sends less and says that it was all.
  const short = createServer((socket) => {
    socket.once("data", () => {
      const piece = whole.subarray(0, whole.length - 700);
      socket.write(
        `HTTP/1.1 200 OK\r\nContent-Type: application/gzip\r\nContent-Length: ${piece.length}\r\nConnection: close\r\n\r\n`,
      );
      socket.end(piece);
    });
  });
  await new Promise<void>((resolve) => short.listen(0, "127.0.0.1", resolve));
  t.after(() => short.close());
  const { port: other } = short.address() as { port: number };
  const lied = await run(["snapshot", "save", join(home, "d.snap")], {
    env: { ...env, HOLDFAST_ADDR: `http://127.0.0.1:${other}` },
  });
  assert.equal(lied.code, 1, lied.all);
  assert.match(lied.stderr, /the snapshot ends early/);
  assert.deepEqual(
    readdirSync(home).filter((name) => name.includes("snap")),
    ["a.snap"],
  );
});

test("inspect needs no server, follows links, and says what is wrong", async (t) => {
  const { cli, file, home } = await stage(t);
  await cli("save", file);
  const alone = (...args: string[]) =>
    run(["snapshot", "inspect", ...args], {
      env: { HOME: home, HOLDFAST_ADDR: "http://127.0.0.1:1" },
    });
  symlinkSync(file, join(home, "latest.snap"));
  const found = await alone(join(home, "latest.snap"));
  assert.equal(found.code, 0, found.all);
  assert.match(found.stdout, /^Index +\d+$/m);
  const json = await alone("-format", "json", file);
  const data = JSON.parse(json.stdout) as Record<string, unknown>;
  assert.equal(data["size"], statSync(file).size);
  assert.equal(
    data["entries"],
    Number(data["shared_entries"]) + Number(data["local_entries"]) + Number(data["core_entries"]),
  );
  truncateSync(file, 5000);
  const cut = await alone(file);
  assert.equal(cut.code, 1, cut.all);
  assert.match(cut.stderr, /^Next: check the file/m);
  assert.match(
    cut.stderr,
    /the snapshot ends early: it has 5000 bytes and breaks off in state\.bin/,
  );
  writeFileSync(file, "something else entirely");
  assert.match((await alone(file)).stderr, /this is not a snapshot of Holdfast/);
  const none = await alone(join(home, "none.snap"));
  assert.match(none.stderr, /there is no such file/);
});

test("verify has the server look, and ends with 1 when the snapshot is not of its key", async (t) => {
  const { cli, file } = await stage(t);
  await cli("save", file);
  const verified = await cli("verify", file);
  assert.equal(verified.code, 0, verified.all);
  assert.match(verified.stdout, /Success! It is whole and opens/);
  const deep = await cli("verify", "-deep", file);
  assert.equal(deep.code, 0, deep.all);
  assert.match(deep.stdout, /Success! All \d+ entries open/);
  const other = await stage(t);
  const foreign = await other.cli("verify", file);
  assert.equal(foreign.code, 1);
  assert.match(foreign.stderr, /is of another cluster/);
  assert.match(foreign.stderr, /^Next: `holdfast snapshot restore -force FILE`/m);
  assert.match((await other.cli("verify", "-deep", file)).stderr, /^Next: .*restore -force FILE/m);
  const bytes = readFileSync(file);
  bytes[3000]! ^= 4;
  writeFileSync(file, bytes);
  const damaged = await cli("verify", file);
  assert.equal(damaged.code, 1, damaged.all);
  assert.match(damaged.stderr, /the snapshot is damaged/);
});

test("drill opens every entry with the shares of its day, without a server", async (t) => {
  const { cli, file, home, shares, env, token, server } = await stage(t);
  await run(["write", "sys/policies/acl/p", 'policy=path "a" { capabilities = ["read"] }'], {
    env,
  });
  assert.equal((await cli("save", file)).code, 0);
  const alone = { HOME: home, HOLDFAST_ADDR: "http://127.0.0.1:1" };
  const typed = await run(["snapshot", "drill", file], {
    env: alone,
    typed: [shares[2]!, shares[0]!],
  });
  assert.equal(typed.code, 0, typed.all);
  assert.match(typed.stdout, /Success! Every entry opens/);
  for (const share of shares) assert.ok(!typed.all.includes(share));

  const list = join(home, "shares.txt");
  writeFileSync(list, `${shares[1]}\n\n${shares[2]}\n`);
  const json = await run(["snapshot", "drill", "-shares", list, "-format", "json", file], {
    env: alone,
  });
  assert.equal(json.code, 0, json.all);
  const data = JSON.parse(json.stdout) as Record<string, unknown>;
  assert.equal(data["ok"], true);
  assert.deepEqual(data["problems"], []);
  assert.ok(Number(data["opened_entries"]) > 0);

  const stdin = `${shares[1]}\n${shares[2]}\n`;
  const piped = await run(["snapshot", "drill", "-shares", "-", file], { env: alone, stdin });
  assert.equal(piped.code, 0, piped.all);
  const nobody = await run(["snapshot", "drill", file], { env: alone });
  assert.match(nobody.stderr, /no terminal .*\n.*-shares FILE, or - for standard input/);
  writeFileSync(list, `${shares[1]}\n`);
  const few = await run(["snapshot", "drill", "-shares", list, file], { env: alone });
  assert.equal(few.code, 2);
  assert.match(few.stderr, /1 shares are there, and the snapshot takes 2/);
  const other = await stage(t);
  writeFileSync(list, other.shares.join("\n"));
  const foreign = await run(["snapshot", "drill", "-shares", list, file], { env: alone });
  assert.equal(foreign.code, 1, foreign.all); // no server has denied anything
  assert.match(
    foreign.stderr,
    /the shares are not those of the snapshot[^]*a rekey makes new ones/,
  );

  // After a rekey: the shares of its day open it still, the new ones do not.
  const started = await server.call("POST", "/v1/sys/rekey/init", {
    token,
    body: { secret_shares: 1, secret_threshold: 1 },
  });
  const { nonce } = started.json as { nonce: string };
  let rekeyed = started;
  for (const key of shares.slice(0, 2)) {
    rekeyed = await server.call("POST", "/v1/sys/rekey/update", { token, body: { key, nonce } });
  }
  const [fresh] = (rekeyed.json as { keys: string[] }).keys;
  writeFileSync(list, `${fresh}\n${fresh}`);
  assert.notEqual(
    (await run(["snapshot", "drill", "-shares", list, file], { env: alone })).code,
    0,
  );
  writeFileSync(list, `${shares[0]}\n${shares[1]}`);
  assert.equal((await run(["snapshot", "drill", "-shares", list, file], { env: alone })).code, 0);
  const verified = await cli("verify", file);
  assert.equal(verified.code, 1);
  assert.match(verified.stderr, /does not open with today's root key/);
});

test("drill of a damaged, cut, foreign or too new file says what is wrong with it", async (t) => {
  const { cli, file, home, shares } = await stage(t);
  await cli("save", file);
  const list = join(home, "shares.txt");
  writeFileSync(list, shares.join("\n"));
  const whole = readFileSync(file);
  const drilled = async (bytes: Uint8Array) => {
    writeFileSync(file, bytes);
    const ran = await run(["snapshot", "drill", "-shares", list, file], { env: { HOME: home } });
    assert.equal(ran.code, 1, ran.all); // 2 would say that the command line is wrong
    return ran.stderr;
  };
  const flipped = Buffer.from(whole);
  flipped[whole.length - 4000]! ^= 1;
  assert.match(await drilled(flipped), /the snapshot is damaged: /);
  assert.match(await drilled(whole.subarray(0, 3000)), /ends early: it has 3000 bytes/);
  assert.match(await drilled(Buffer.from("PK…")), /ends early|not a snapshot of Holdfast/);
  const newer = Buffer.from(whole);
  newer.write('"Version":9', whole.indexOf('"Version":1'));
  assert.match(await drilled(newer), /later form than this version reads: version 9/);
});

test("list tells how automated snapshots go, and fails when the last one did", async (t) => {
  const { cli, env, server, home } = await stage(t);
  const none = await cli("list");
  assert.equal(none.code, 3, none.all);
  assert.match(none.all, /There are no configurations of automated snapshots/);
  const base = "sys/storage/raft/snapshot-auto";
  const place = join(server.directory, "snapshots");
  const fields = [
    "storage_type=local",
    `path_prefix=${place}`,
    "local_max_space=100000000",
    "interval=24h",
    "retain=2",
  ];
  const written = await run(["write", `${base}/config/nightly`, ...fields], { env });
  assert.equal(written.code, 0, written.all);
  const waiting = await cli("list");
  assert.equal(waiting.code, 0, waiting.all);
  assert.match(waiting.stdout, /^nightly +waiting /m);
  assert.equal((await cli("list", "nightly")).code, 3);
  const made = await run(["write", "-force", `${base}/run/nightly`], { env });
  assert.equal(made.code, 0, made.all);
  const [name = ""] = readdirSync(place);
  const listed = await cli("list", "nightly");
  assert.equal(listed.code, 0, listed.all);
  assert.ok(listed.stdout.includes(name.slice(0, 30)), listed.stdout);
  // What was stored is an archive like any other.
  const inspected = await run(["snapshot", "inspect", join(place, name)], { env: { HOME: home } });
  assert.equal(inspected.code, 0, inspected.all);
  const verified = await cli("verify", join(place, name));
  assert.equal(verified.code, 0, verified.all);
  await run(["write", `${base}/config/nightly`, "local_max_space=1"], { env });
  const failed = await run(["write", "-force", `${base}/run/nightly`], { env });
  assert.match(failed.stderr, /local_max_space is 1 bytes/);
  assert.equal((await cli("list")).code, 1);
  assert.equal((await cli("list", "nightly")).code, 1);
  const json = await run(["snapshot", "list", "-format", "json"], { env });
  assert.equal(JSON.parse(json.stdout)[0].consecutive_errors, 1);
});

test("drill of a configuration is made by the server, followed and listed; a file stays a file", async (t) => {
  const { cli, env, server, home } = await stage(t);
  const base = "sys/storage/raft/snapshot-auto";
  const place = join(server.directory, "snapshots");
  const fields = [
    "storage_type=local",
    `path_prefix=${place}`,
    "local_max_space=100000000",
    "interval=24h",
    "drill=off",
  ];
  const written = await run(["write", `${base}/config/nightly`, ...fields], { env });
  assert.equal(written.code, 0, written.all);
  assert.equal((await cli("list", "-drills", "nightly")).code, 3);
  const early = await cli("drill", "nightly");
  assert.equal(early.code, 1, early.all);
  assert.match(early.stderr, /there is no snapshot in file:/);
  assert.equal((await run(["write", "-force", `${base}/run/nightly`], { env })).code, 0);
  const drilled = await cli("drill", "nightly");
  assert.equal(drilled.code, 0, drilled.all);
  assert.match(drilled.stdout, /^Opened +\d+$/m);
  assert.match(drilled.stdout, /^Signed report +[0-9a-f-]{36}$/m);
  assert.match(drilled.stdout, /Success! .*it restores/);
  const listed = await cli("list", "-drills", "nightly");
  assert.equal(listed.code, 0, listed.all);
  assert.match(listed.stdout, / proven /);
  assert.match((await cli("list")).stdout, /Proven/);
  assert.equal((await cli("list", "-drills")).code, 2);
  const [name = ""] = readdirSync(place);
  truncateSync(join(place, name), 2000);
  const cut = await cli("drill", "nightly", "-format", "json");
  assert.equal(cut.code, 1, cut.all);
  const { result, problems } = JSON.parse(cut.stdout);
  assert.equal(result, "failed");
  assert.match(problems.join(), /ends early: it has 2000 bytes/);
  assert.equal((await cli("list", "-drills", "nightly")).code, 1);
  const all = await cli("list");
  assert.equal(all.code, 1, all.all);
  assert.match(all.stdout, /the last drill failed/);
  const unknown = await cli("drill", "weekly");
  assert.notEqual(unknown.code, 0);
  assert.match(
    unknown.stderr,
    /no file and no configuration of automated snapshots is called weekly/,
  );
  // A path, an ending or a file that is there is never asked of the server.
  const alone = (file: string) =>
    run(["snapshot", "drill", file], { env: { HOME: home, HOLDFAST_ADDR: "http://127.0.0.1:1" } });
  assert.match((await alone("missing.snap")).stderr, /missing\.snap/);
  assert.doesNotMatch((await alone("missing.snap")).stderr, /127\.0\.0\.1/);
  assert.match((await alone(join(place, name))).stderr, /ends early/);
});

test("drill of a snapshot under an auto seal: by its key, or by recovery shares that unseal", async (t) => {
  const home = makeHome((call) => t.after(call));
  const keyFile = join(home, "seal.key");
  writeFileSync(keyFile, Buffer.alloc(32, 7).toString("hex"), { mode: 0o600 });
  const server = await startServer({
    config: (config) => ({ ...config, seal: { type: "static", key: { file: keyFile } } }),
  });
  t.after(() => server.stop());
  const made = await server.call("POST", "/v1/sys/init", {
    body: { recovery_shares: 2, recovery_threshold: 2 },
  });
  assert.equal(made.status, 200, made.text);
  const answer = made.json as { root_token: string; recovery_keys: string[] };
  const env = { HOLDFAST_ADDR: server.url, HOLDFAST_TOKEN: answer.root_token, HOME: home };
  const file = join(home, "a.snap");
  assert.equal((await run(["snapshot", "save", file], { env })).code, 0);
  const drill = (...args: string[]) =>
    run(["snapshot", "drill", ...args, file], { env: { HOME: home } });
  const byKey = await drill("-seal-key", keyFile);
  assert.equal(byKey.code, 0, byKey.all);
  const list = join(home, "recovery.txt");
  writeFileSync(list, answer.recovery_keys.join("\n"));
  assert.equal((await drill("-shares", list)).code, 0);
  writeFileSync(keyFile, Buffer.alloc(32, 8).toString("hex"));
  const wrong = await drill("-seal-key", keyFile);
  assert.equal(wrong.code, 1, wrong.all);
  assert.match(wrong.stderr, /is not that of the snapshot's seal/);
});
