// A connection in a real process of a plugin for databases that does not let go of it.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import { SystemRandom } from "../../system/random.ts";
import { PluginPlace } from "../../../tests/support/plugins/plugin-place.ts";
import { ProcessDatabases } from "./database-plugins.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const NEVER = new AbortController().signal;

const HANGS = `#!/usr/bin/env node
await import(${JSON.stringify(join(ROOT, "scripts", "find-own-modules.ts"))});
const { serveDatabase } = await import(${JSON.stringify(join(ROOT, "plugin-sdk", "serve", "serve-database.ts"))});
await serveDatabase({
  name: "slow",
  secretFields: [],
  maxUsername: 63,
  open: async () => ({ close: () => new Promise(() => {}) }),
});
`;

test("a connection that a plugin does not close is let go after plugin_database_timeout", async (t) => {
  const place = new PluginPlace();
  t.after(() => place.remove());
  const sha256 = place.put("slow.mjs", HANGS);
  const program = place.program({ type: "database", name: "slow", command: "slow.mjs", sha256 });
  const processes = await place.open();
  t.after(() => processes.close());
  const plugins = new ProcessDatabases({
    choice: { choose: () => ({ program, isPinned: false }) },
    processes,
    random: new SystemRandom(),
    answersWithin: 200n * MILLISECOND,
  });
  const instance = await plugins.open("slow", "", NEVER);
  await instance.initialize({}, false, NEVER);
  // The process stays: another connection of it takes no part in how long this one takes.
  const other = await processes.hold(program, "other", NEVER);
  const began = place.clock.elapsed();
  await instance.close();
  const took = place.clock.elapsed() - began;
  assert.ok(took >= 150n * MILLISECOND && took < 4n * SECOND, `${took / MILLISECOND} ms`);
  assert.equal(other.end, null);
});
