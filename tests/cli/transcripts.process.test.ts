// The transcripts against a server that answers as the real one does, and the runner against planted
// mistakes: a runner that passes everything would be worth nothing.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { FakeServer, ROOT_TOKEN } from "./fakes/fake-server.ts";
import { makeHome } from "./harness.ts";
import { readTranscript, runTranscript, transcripts } from "./transcript.ts";

const servers: FakeServer[] = [];
after(() => Promise.all(servers.map((server) => server.stop())));

async function freshServer(): Promise<FakeServer> {
  const server = await FakeServer.start();
  servers.push(server);
  return server;
}

for (const [name, text] of transcripts()) {
  test(`transcript ${name}`, async (t) => {
    const server = await freshServer();
    const home = makeHome((call) => t.after(call));
    const opened = name !== "first-day.txt";
    if (opened) server.opened();
    const token = opened ? { HOLDFAST_TOKEN: ROOT_TOKEN } : {};
    const env = { HOLDFAST_ADDR: server.address, HOME: home, ...token };
    const shares = server.shares.map((share, i) => [`share${i + 1}`, share] as const);
    await runTranscript(name, text, env, new Map([...shares, ["audit_dir", "/tmp"]]));
  });
}

test("there are transcripts", () => {
  assert.ok(transcripts().length >= 4);
});

test("the runner finds a wrong line, a missing one, one too many, and a wrong code", async (t) => {
  const home = makeHome((call) => t.after(call));
  const env = { HOME: home };
  const good = "$ holdfast version\nHoldfast 0.1.0\n";
  await runTranscript("planted", good, env);
  for (const bad of [
    "$ holdfast version\nHoldfast 0.2.0\n",
    "$ holdfast version\nHoldfast 0.1.0\nmore\n",
    "$ holdfast version\n",
    "$ holdfast version\nHoldfast 0.1.0\n? 1\n",
    "$ holdfast version\nHoldfast 0.1.0\n! warning\n",
    "$ holdfast version\nHoldfast {{a}}\n$ holdfast help nonsense\n{{a}}\n",
    "$ holdfast version\n...\nHoldfast 9\n",
  ]) {
    await assert.rejects(runTranscript("planted", bad, env), /planted:\d+: holdfast/, bad);
  }
});

test("names are kept from line to line and put into commands", async (t) => {
  const home = makeHome((call) => t.after(call));
  const text = "$ holdfast version\n{{what}} {{number}}\n$ holdfast help '{{what}}'\n! ...\n? 2\n";
  await runTranscript("planted", text, { HOME: home });
  assert.deepEqual(readTranscript("$ holdfast a 'b c' \"d\"\n< in\nout\n! err\n? 3\n"), [
    {
      line: 1,
      words: ["a", "b c", "d"],
      stdin: "in\n",
      stdout: ["out"],
      stderr: ["err"],
      code: 3,
    },
  ]);
});
