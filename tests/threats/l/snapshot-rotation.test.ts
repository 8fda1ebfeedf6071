// Threats L of automated snapshots: what makes way is what the configuration has written itself, and nothing else.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { startFakeS3 } from "../../fakes/stores/clouda-store.ts";
import { startFakeBlob } from "../../fakes/stores/cloudb-blob.ts";
import { startFakeGcs } from "../../fakes/stores/cloudc-store.ts";
import { done, refused, SECOND } from "../../support/servers/engine-server.ts";
import {
  AUTO,
  autoServer,
  cloudaConfig,
  cloudbConfig,
  cloudcConfig,
} from "../../support/snapshots/auto-server.ts";

const BOUND = { timeout: 300_000 };
const FOREIGN = "nightly-1600000000000000000.snap";
const BYTES = Buffer.from("nineteen bytes here");

type Server = Awaited<ReturnType<typeof autoServer>>;

interface Place {
  readonly config: (change?: object) => object;
  readonly names: () => string[];
  /** Past the server: what was there with the name keeps what the store says of it besides. */
  readonly put: (name: string, bytes: Buffer) => void;
}

const FOLDER = "east/daily/";
const shortened = (keys: Iterable<string>) => [...keys].map((key) => key.replace(FOLDER, ""));

const PLACES: Readonly<Record<string, (t: TestContext, server: Server) => Promise<Place>>> = {
  local: async (_t, server) => ({
    config: (change) => server.local(change),
    names: () => server.files(),
    put: (name, bytes) => writeFileSync(join(server.place, name), bytes, { mode: 0o600 }),
  }),
  "clouda-store": async (t, server) => {
    const fake = await startFakeS3({ now: () => server.milliseconds });
    t.after(() => fake.close());
    return {
      config: (change) => cloudaConfig(fake, { drill: "off", ...change }),
      names: () => shortened(fake.objects.keys()),
      put: (name, bytes) => {
        fake.objects.set(FOLDER + name, { bytes, headers: {} });
      },
    };
  },
  "cloudb-blob": async (t, server) => {
    const fake = await startFakeBlob({ now: () => server.milliseconds });
    t.after(() => fake.close());
    return {
      config: (change) => cloudbConfig(fake, { drill: "off", ...change }),
      names: () => shortened(fake.blobs.keys()),
      put: (name, bytes) => {
        fake.blobs.set(FOLDER + name, { bytes, headers: {} });
      },
    };
  },
  "cloudc-store": async (t, server) => {
    const fake = await startFakeGcs({ now: () => server.milliseconds });
    t.after(() => fake.close());
    return {
      config: (change) => cloudcConfig(fake, { drill: "off", ...change }),
      names: () => shortened(fake.objects.keys()),
      put: (name, bytes) => {
        fake.objects.set(FOLDER + name, { bytes, metadata: {}, contentType: "" });
      },
    };
  },
};

const nameIn = (url: string) => url.split("/").at(-1) ?? "";

/** Runs it a while later and gives the name of what it has written. */
async function written(server: Server, name: string, later = SECOND): Promise<string> {
  server.time.clock.pass(later);
  const answer = await server.run(name);
  assert.equal(answer.status, 200, answer.text);
  const status = await server.status(name);
  assert.equal(status.rotation_error, "");
  return nameIn(status.last_snapshot_url);
}

for (const [kind, open] of Object.entries(PLACES)) {
  test(
    `T-L06: ${kind}: what has exactly such a name and was written by others is neither deleted nor counted`,
    BOUND,
    async (t) => {
      const server = await autoServer(t);
      const place = await open(t, server);
      place.put(FOREIGN, BYTES);
      done(await server.write("a", place.config()));
      await written(server, "a");
      const own = await written(server, "a");
      assert.deepEqual(place.names().toSorted(), [FOREIGN, own]);
      const { stored_count: count, stored_bytes, last_snapshot_size } = await server.status("a");
      assert.deepEqual([count, stored_bytes], [1, last_snapshot_size]);
      // A configuration that is made anew has written nothing, whatever its name.
      done(await server.ask("DELETE", `${AUTO}/config/a`));
      assert.deepEqual(server.storedKeys("snapshots/auto/written"), []);
      done(await server.write("a", place.config()));
      await written(server, "a");
      const last = await written(server, "a");
      assert.deepEqual(place.names().toSorted(), [FOREIGN, own, last].toSorted());
      assert.equal((await server.status("a")).stored_count, 1);
    },
  );

  test(
    `T-L06: ${kind}: what has taken the place of ours is left alone, by its size and by its sum`,
    BOUND,
    async (t) => {
      const server = await autoServer(t);
      const place = await open(t, server);
      done(await server.write("a", place.config({ retain: 2 })));
      const first = await written(server, "a");
      const second = await written(server, "a");
      const { last_snapshot_size: size } = await server.status("a");
      place.put(first, BYTES);
      // Of a directory nobody tells sums: there it is the length alone.
      place.put(second, Buffer.alloc(kind === "local" ? size - 1 : size));
      done(await server.write("a", { retain: 1 }));
      const third = await written(server, "a");
      assert.deepEqual(place.names().toSorted(), [first, second, third].toSorted());
      assert.equal((await server.status("a")).stored_count, 1);
    },
  );
}

test("T-L06: two clusters that write to one folder do not rotate each other", BOUND, async (t) => {
  const one = await autoServer(t);
  const other = await autoServer(t);
  const fake = await startFakeS3({ now: () => one.milliseconds });
  t.after(() => fake.close());
  for (const server of [one, other]) {
    const config = { drill: "off", file_prefix: undefined };
    done(await server.write("a", cloudaConfig(fake, config)));
  }
  const names: string[] = [];
  for (const server of [one, other, one, other]) {
    names.push(await written(server, "a", server === one ? SECOND : SECOND + 1n));
  }
  assert.deepEqual(shortened(fake.objects.keys()).toSorted(), names.slice(-2).toSorted());
});

test(
  "T-L06: the list outlives a crash, and a place that is left and come back to",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    done(await server.write("a", server.local({ retain: 2 })));
    const [first, second] = [await written(server, "a"), await written(server, "a")];
    await server.crash();
    const third = await written(server, "a");
    assert.deepEqual(server.files(), [second, third], `${first} made way`);
    done(await server.write("a", { file_prefix: "other" }));
    const other = await written(server, "a");
    assert.deepEqual(server.files(), [second, third, other]);
    assert.equal((await server.status("a")).stored_count, 1);
    done(await server.write("a", { file_prefix: "nightly" }));
    const fourth = await written(server, "a");
    assert.deepEqual(server.files(), [third, fourth, other]);
  },
);

test(
  "T-L06: a snapshot that was there when the server died is its own, and makes way in its turn",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const fake = await startFakeS3({ now: () => server.milliseconds });
    t.after(() => fake.close());
    done(await server.write("a", cloudaConfig(fake, { drill: "off" })));
    fake.faults.push({ action: "HeadObject", kind: "hang" });
    const running = server.run("a");
    running.catch(() => {});
    await server.passUntil(() => fake.hanging() === 1, SECOND);
    assert.equal(fake.objects.size, 1, "written, and not looked at yet");
    await server.die();
    await server.restart();
    const status = await server.ended("a", 10n * SECOND);
    assert.deepEqual([status.rotation_error, status.stored_count], ["", 1]);
    assert.deepEqual(shortened(fake.objects.keys()), [nameIn(status.last_snapshot_url)]);
  },
);

test(
  "T-L07: local_max_space is for all that has such a name there; nothing is deleted to make room",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const large = Buffer.alloc(900_000);
    writeFileSync(join(server.place, FOREIGN), large, { mode: 0o600 });
    done(await server.write("a", server.local({ local_max_space: 900_010 })));
    refused(await server.run("a"), 502, /local_max_space is 900010 bytes; 1 snapshots have 900000/);
    assert.deepEqual(server.files(), [FOREIGN]);
    assert.ok(readFileSync(join(server.place, FOREIGN)).equals(large));
    done(await server.write("a", { local_max_space: 9_000_000 }));
    await written(server, "a");
    const { stored_bytes: own } = await server.status("a");
    const { text } = await server.ask("GET", "sys/metrics?format=prometheus");
    const ratio = (own + large.length) / 9_000_000;
    assert.ok(text.includes(`holdfast_snapshot_space_used_ratio ${ratio}\n`), `${ratio}`);
  },
);
