import assert from "node:assert/strict";
import test from "node:test";
import { StatusError } from "@holdfast/shared/grpc/status";
import {
  hello,
  isReplacedThere,
  isRevokedThere,
  NO_STANDING,
  PeerGate,
  PROTOCOL,
} from "./hello.ts";
import type { Peer } from "./verify.ts";

const PEER: Peer = {
  set: "11111111-2222-4333-8444-555555555555",
  kind: "performance",
  id: "region-c",
  serial: "4a",
  expires: 10n,
};

test("a session ends to be heard when another cluster has come as the same member, and hears why", async () => {
  let now = "c";
  const gate = new PeerGate(
    PEER,
    {
      table: new Map(),
      greet: async () => ({ clusterId: "a", protocol: PROTOCOL, version: "1" }),
      isRevoked: () => false,
      isReplaced: (_peer, cluster) => cluster !== now,
    },
    { now: () => 1n },
  );
  const { set, kind, id: secondaryId } = PEER;
  const names = { set, kind, secondaryId, clusterId: "c", version: "1", protocol: PROTOCOL };
  const sent = hello.request.encode({ ...NO_STANDING, ...names });
  const call = { peer: PEER, signal: new AbortController().signal, metadata: () => undefined };
  const requests = (async function* () {
    yield sent;
  })();
  for await (const _ of gate.table.get(hello.path)!.run(requests, call)) assert.ok(gate.isGreeted);
  gate.admit("/echo");
  now = "d";
  assert.throws(
    () => gate.admit("/echo"),
    (error) => error instanceof StatusError && isReplacedThere(error) && !isRevokedThere(error),
  );
});
