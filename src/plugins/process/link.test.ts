// Who connects to a service of the server that a plugin is offered: the plugin, a few times, and nobody else for long.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { makeCertificate } from "@holdfast/plugin-sdk/wire/certificate";
import { until } from "../../../tests/support/until.ts";
import { SystemClock } from "../../system/clock.ts";
import { SystemRandom } from "../../system/random.ts";
import { dialPlugin, listenForPlugin } from "./link.ts";

const NEVER = new AbortController().signal;

const AN_HOUR = 3_600_000;

async function service(t: TestContext, handshakeWithin = AN_HOUR) {
  const folder = mkdtempSync(join(tmpdir(), "hf-link-"));
  const path = join(folder, "b1");
  const world = { clock: new SystemClock(), random: new SystemRandom() };
  const [ours, theirs] = [makeCertificate(world), makeCertificate(world)];
  const accepted: Socket[] = [];
  const listener = await listenForPlugin({
    path,
    pair: { own: ours, theirs: theirs.certificate },
    isForOthers: false,
    accept: (socket) => void accepted.push(socket.resume()),
    tooOld: () => assert.fail("it is a new one"),
    handshakeWithin,
  });
  const raw: Socket[] = [];
  t.after(async () => {
    for (const socket of raw) socket.destroy();
    await listener.close();
    rmSync(folder, { recursive: true });
  });
  return {
    accepted,
    close: () => listener.close(),
    dial: () => dialPlugin(path, { own: theirs, theirs: ours.certificate }, NEVER),
    /** Somebody else, who may open the socket. */
    dialAsAnother: () =>
      dialPlugin(path, { own: makeCertificate(world), theirs: ours.certificate }, NEVER),
    /** Of one who wants somebody else than who answers. */
    dialAnother: () =>
      dialPlugin(path, { own: theirs, theirs: makeCertificate(world).certificate }, NEVER),
    /** Somebody who connects and says nothing. */
    silent: () => {
      const socket = connect({ path }).on("error", () => {});
      raw.push(socket);
      return socket;
    },
  };
}

test("T-H13: a service has two connections of its plugin at a time, and one that is closed makes room", async (t) => {
  const { dial, accepted } = await service(t);
  const sockets = [await dial(), await dial()];
  await until(() => accepted.length === 2);
  const third = await dial();
  await until(() => third.destroyed || third.readableEnded || third.resume().closed);
  assert.equal(accepted.length, 2);
  sockets[0]?.destroy();
  await until(() => accepted[0]?.closed === true || accepted[1]?.closed === true);
  await dial();
  await until(() => accepted.length === 3);
});

test("T-H13: who has another certificate than the plugin's is sent away, and takes no place of the plugin's", async (t) => {
  const { dial, dialAsAnother, accepted } = await service(t);
  for (let i = 0; i < 3; i++) {
    const foreign = await dialAsAnother();
    foreign.resume();
    await until(() => foreign.closed);
  }
  assert.equal(accepted.length, 0);
  await dial();
  await until(() => accepted.length === 1);
});

test("T-H13: who answers with another certificate than the plugin's is not spoken to", async (t) => {
  const { dialAnother } = await service(t);
  await assert.rejects(dialAnother(), /is not the plugin that was started/);
});

test("T-H13: who connects and says nothing is one of a few, and holds up nothing that closes", async (t) => {
  const { silent, close, accepted } = await service(t);
  const sockets = Array.from({ length: 40 }, silent);
  const open = () => sockets.filter((socket) => !socket.closed).length;
  await until(() => open() <= 10 && sockets.every((socket) => !socket.connecting));
  assert.equal(accepted.length, 0);
  assert.equal(open(), 10);
  await close();
  await until(() => open() === 0);
});

test("T-H13: who says nothing is sent away, so that the plugin still comes in", async (t) => {
  const { silent, dial, accepted } = await service(t, 200);
  const sockets = Array.from({ length: 10 }, silent);
  await until(() => sockets.every((socket) => socket.closed));
  await dial();
  await until(() => accepted.length === 1);
});
