// Snapshots that are loaded beside the data: loaded, listed, read from, unloaded and refused, over HTTP.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { SystemFs } from "../../../src/system/fs.ts";
import { at } from "../../support/http-client.ts";
import {
  absent,
  dataOf,
  done,
  engineServer,
  grants,
  HOUR,
  keysOf,
  refused,
} from "../../support/servers/engine-server.ts";
import { LOAD, loadedServer, refusedWith } from "../../support/snapshots/loaded-server.ts";
import { sendSnapshot } from "../../support/snapshots/snapshot-calls.ts";

const BOUND = { timeout: 300_000 };

test(
  "a snapshot is loaded, listed, told of and unloaded; nothing is left of it",
  BOUND,
  async (t) => {
    const loaded = await loadedServer(t);
    const { server } = loaded;
    absent(await server.ask("LIST", LOAD));
    const archive = await loaded.take();
    const made = await loaded.send(archive);
    assert.equal(made.status, 200, made.text);
    const { snapshot_id: id, size, status } = made.json;
    assert.equal(status, "ready");
    assert.equal(size, archive.length);
    const listed = await server.ask("LIST", LOAD);
    assert.deepEqual(keysOf(listed), [id]);
    const one = dataOf(await server.ask("GET", `${LOAD}/${String(id)}`));
    assert.deepEqual(one, made.json);
    assert.deepEqual(at(listed, "data", "key_info", String(id)), made.json);
    const directory = join(server.test.directory, "server", "loaded");
    const stores = () => readdirSync(directory).filter((name) => /^\d+$/.test(name));
    assert.equal(stores().length, 1);
    done(await server.ask("DELETE", `${LOAD}/${String(id)}`));
    assert.deepEqual(stores(), []);
    absent(await server.ask("LIST", LOAD));
    const gone = `${LOAD}/${String(id)}`;
    refusedWith(await server.ask("GET", gone), 404, "snapshot_not_loaded");
    done(await server.ask("DELETE", gone)); // as of a configuration, or a mount
  },
);

test(
  "what is kept of a loaded snapshot on the disk is encrypted as in the archive",
  BOUND,
  async (t) => {
    const loaded = await loadedServer(t);
    const { server } = loaded;
    await server.enable("kv", "kv");
    await server.must("POST", "kv/data/app", { data: { password: "canary-41d8" } });
    const id = await loaded.load();
    assert.equal(
      at(await loaded.read(id, "kv/data/app"), "data", "data", "password"),
      "canary-41d8",
    );
    const directory = join(server.test.directory, "server", "loaded");
    const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((one) =>
      one.isFile(),
    );
    assert.ok(files.length > 1);
    for (const file of files) {
      const bytes = readFileSync(join(file.parentPath, file.name));
      assert.ok(!bytes.includes("canary-41d8"), file.name);
    }
  },
);

test("two at most; a third is refused until one is unloaded", BOUND, async (t) => {
  const loaded = await loadedServer(t);
  const archive = await loaded.take();
  const [first] = [await loaded.load(archive), await loaded.load(archive)];
  const third = await loaded.send(archive);
  assert.equal(third.status, 409, third.text);
  assert.match(third.text, /2 snapshots are loaded already/);
  done(await loaded.server.ask("DELETE", `${LOAD}/${first}`));
  await loaded.load(archive);
});

test("after 72 hours it is gone, and what is left of it too", BOUND, async (t) => {
  const loaded = await loadedServer(t);
  const { server } = loaded;
  await server.enable("kv", "kv");
  await server.must("POST", "kv/data/app", { data: { a: 1 } });
  const id = await loaded.load();
  await server.time.passSlowly(71n * HOUR, HOUR);
  dataOf(await loaded.read(id, "kv/data/app"));
  await server.time.pass(HOUR + 1n);
  refusedWith(await loaded.read(id, "kv/data/app"), 404, "snapshot_not_loaded");
  absent(await server.ask("LIST", LOAD));
  const directory = join(server.test.directory, "server", "loaded");
  await server.passUntil(() => !readdirSync(directory).some((name) => /^\d+$/.test(name)));
});

test("sealing unloads everything; an unsealed server has none", BOUND, async (t) => {
  const loaded = await loadedServer(t);
  const { server } = loaded;
  const id = await loaded.load();
  const directory = join(server.test.directory, "server", "loaded");
  done(await server.ask("POST", "sys/seal"));
  assert.ok(!readdirSync(directory).some((name) => /^\d+$/.test(name)));
  await server.test.unseal(server.shares);
  refusedWith(await server.ask("GET", `${LOAD}/${id}`), 404, "snapshot_not_loaded");
  await loaded.load();
});

test(
  "archives that are damaged, cut, foreign or empty are refused in words, and leave nothing",
  BOUND,
  async (t) => {
    const loaded = await loadedServer(t);
    const { server } = loaded;
    await server.enable("kv", "kv");
    for (let i = 0; i < 20; i++) await server.must("POST", `kv/data/${i}`, { data: { i } });
    const archive = await loaded.take();
    const flipped = Buffer.from(archive);
    flipped[archive.length >> 1]! ^= 1;
    const cases: [what: string, sent: Uint8Array, text: RegExp][] = [
      ["cut", archive.subarray(0, archive.length - 100), /the snapshot ends early/],
      ["flipped", flipped, /the snapshot is damaged/],
      ["foreign", Buffer.from("no archive at all"), /does not begin as gzip does/],
      ["empty", Buffer.alloc(0), /send the snapshot as the body/],
    ];
    for (const [what, sent, text] of cases) {
      const answer = await loaded.send(sent);
      assert.equal(answer.status, 400, `${what}: ${answer.text}`);
      assert.match(answer.text, text);
    }
    const other = await engineServer(t);
    const foreign = await sendSnapshot(other.test.url, other.root, "snapshot-load", archive);
    assert.equal(foreign.status, 400);
    assert.match(foreign.text, /is of another cluster/);
    absent(await server.ask("LIST", LOAD));
    for (const { directory } of [server.test, other.test]) {
      const place = join(directory, "server", "loaded");
      assert.ok(!existsSync(place) || !readdirSync(place).some((name) => /^\d+$/.test(name)));
    }
  },
);

test(
  "loading, listing, telling and unloading need sudo, in the root namespace",
  BOUND,
  async (t) => {
    const loaded = await loadedServer(t);
    const { server } = loaded;
    const archive = await loaded.take();
    const all = ["create", "read", "update", "delete", "list"];
    const without = await server.client(grants(`${LOAD}*`, ...all));
    const within = await server.client(grants(`${LOAD}*`, ...all, "sudo"));
    assert.equal((await loaded.send(archive, without)).status, 403);
    const made = await loaded.send(archive, within);
    assert.equal(made.status, 200, made.text);
    const one = `${LOAD}/${String(made.json["snapshot_id"])}`;
    for (const [method, path] of [
      ["LIST", LOAD],
      ["GET", one],
      ["DELETE", one],
    ] as const) {
      refused(
        await server.ask(method, path, undefined, { token: without }),
        403,
        "permission denied",
      );
    }
    await server.namespaces("team");
    assert.equal((await server.ask("GET", one, undefined, { namespace: "team" })).status, 403);
    done(await server.ask("DELETE", one, undefined, { token: within }));
  },
);

test("a disk without room for it is told before anything is kept", BOUND, async (t) => {
  class ShortDisk extends SystemFs {
    override freeBytes(): number {
      return 100 * 1024 * 1024;
    }
  }
  const loaded = await loadedServer(t, { world: { fs: new ShortDisk() } });
  const { server } = loaded;
  // Room is looked at before the first byte: whatever it is.
  const answer = await loaded.send(Buffer.from("an archive"));
  assert.equal(answer.status, 503, answer.text);
  assert.match(answer.text, /there is no room to load the snapshot: 104857600 bytes are free/);
  const directory = join(server.test.directory, "server", "loaded");
  assert.ok(!readdirSync(directory).some((name) => /^\d+$/.test(name)));
});
