// A cluster that was promoted tells the primary of before, with the credentials that it had as its secondary. The proof is
// made with the keys of the set; a certificate that was revoked is refused before anybody looks at it.

import type { KeyObject } from "node:crypto";
import type { Barrier } from "../../barrier/barrier.ts";
import type { Peer } from "../../cluster/verify.ts";
import { bytes, flag, message, text, uint32 } from "../../grpc/message.ts";
import { method, type Served, serveUnary } from "../../grpc/method.ts";
import { Status, StatusError } from "../../grpc/status.ts";
import { fenceProof, provesFence } from "../joining/proofs.ts";
import type { Epoch } from "../roles/role.ts";
import { type DialingWorld, linkTo } from "./dialing.ts";
import type { Upstream } from "./upstream.ts";

const MAX = 4096;
const DIGITS = /^\d{1,20}$/;

const request = message({ number: uint32(1), cluster: text(2), first: text(3), proof: bytes(4) });
const answer = message({ accepted: flag(1) });

const fenceMethod = method("unary", "/holdfast.cluster.v1.Replication/Fence", request, answer, {
  maxRequest: MAX,
  maxResponse: MAX,
});

/** `accept`: after the answer is on its way. */
export function serveFence(rootKey: () => KeyObject, accept: (epoch: Epoch) => void): Served<Peer> {
  return serveUnary<
    Peer,
    typeof fenceMethod.request extends { decode(b: Uint8Array): infer Q } ? Q : never,
    { accepted: boolean }
  >(fenceMethod, async ({ number, cluster, first, proof }, { peer }) => {
    const { set, kind } = peer;
    const epoch = { number, cluster, first };
    if (!DIGITS.test(first)) throw new StatusError(Status.invalidArgument, "no such index");
    if (!provesFence(proof, rootKey(), { set, kind, epoch })) {
      throw new StatusError(Status.permissionDenied, "the proof is not one of this set");
    }
    accept(epoch);
    return { accepted: true };
  });
}

/** At the first address that answers. False where none does. */
export async function sendFence(
  world: DialingWorld & {
    readonly barrier: Barrier;
    readonly clusterId: () => string;
    readonly version: string;
  },
  former: Upstream,
  addresses: readonly string[],
  epoch: Epoch,
): Promise<boolean> {
  const { set, kind } = former.member;
  const proof = fenceProof(world.barrier.rootKey, { set, kind, epoch });
  for (const address of addresses) {
    const link = linkTo(address, former, world);
    try {
      await link.open({ clusterId: world.clusterId(), version: world.version });
      const { accepted } = await link.call(fenceMethod, { ...epoch, proof });
      if (accepted) return true;
    } catch {
      continue; // it is asked again later
    } finally {
      await link.close();
    }
  }
  return false;
}
