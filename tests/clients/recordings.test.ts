// Whatever the recorded clients send is answered as they need it, in the order in which they did it: from a
// server that nobody has initialised to one that is sealed again. And what is refused is documented.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { anyEngine } from "@holdfast/plugin-sdk/engine";
import { countingEngine } from "../support/stores/counting-engine.ts";
import { RawClient } from "../support/http-front.ts";
import { Outside } from "../support/stores/outside.ts";
import { startServer } from "../support/servers/test-server.ts";
import { readRecording, Replay } from "./recording.ts";

const RECORDINGS = ["hvac.txt", "node-vault.txt", "bao.txt", "nomad.txt"] as const;

for (const file of RECORDINGS) {
  test(`replayed: every call in ${file}`, async (t) => {
    // Leases come from an engine that needs no cloud.
    const server = await startServer({ engineTypes: [anyEngine(countingEngine(new Outside()))] });
    t.after(() => server.stop());
    const { headers, calls } = readRecording(file);
    const { auditDirectory: audit } = server;
    // This one is for servers that run: initialising them is no part of it.
    const token = file === "nomad.txt" ? (await server.open()).token : "";
    const { host, port } = new URL(server.url);
    const connection = await RawClient.connect(Number(port));
    t.after(() => connection.destroy());
    const replay = new Replay(connection, host, headers, { audit, token });
    for (const call of calls) await t.test(call.name, () => replay.play(call));
  });
}

test("every refused call is in the table of docs/clients.md with its reason, and no other is", () => {
  const page = readFileSync(new URL("../../docs/clients.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `([^`]+)` +\| `([^`]+)` +\| \d{3} +\| (.+?) +\|$/gm)];
  const lines = rows.map(([, client, call, why]) => `${client}: ${call}: ${why}`);
  const recorded = RECORDINGS.flatMap((file) =>
    readRecording(file).calls.flatMap(({ name, refused }) =>
      refused === null ? [] : [`${file.replace(".txt", "")}: ${name}: ${refused}`],
    ),
  );
  assert.deepEqual(lines.toSorted(), recorded.toSorted());
});
