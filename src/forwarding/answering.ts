// The side of the primary: a request that a secondary has sent on passes the whole pipeline once more, as one that came
// to a listener of its own.

import type { ListenerTraits } from "@holdfast/shared/endpoint/request";
import { utf8 } from "@holdfast/shared/bytes";
import type { JsonObject } from "@holdfast/shared/json/json";
import { readJson } from "@holdfast/shared/json/json-reader";
import { Reply } from "@holdfast/shared/endpoint/reply";
import { readAddress } from "@holdfast/shared/text/addresses";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Peer } from "../cluster/verify.ts";
import type { Core, ForwardedFrom, Incoming } from "../core/incoming.ts";
import { type Call, type Served, serveUnary } from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { malformed, tooLarge } from "./failures.ts";
import {
  ask,
  findToken,
  forward,
  type ForwardAnswer,
  type ForwardedRequest,
  MAX_SENT_BODY,
  takeUse,
} from "./messages.ts";
import { sentAnswer } from "./sent-answer.ts";
import { attestedBy } from "./sent-caller.ts";

/** As the listeners of others are judged: nobody comes from this machine, and no key is handed in this way. */
const LISTENER: ListenerTraits = {
  keyCeremonies: "off",
  openings: { metrics: false },
  maxBody: MAX_SENT_BODY,
  metricsOnly: false,
};

export interface ForwardedRequests {
  readonly core: Pick<Core, "handle">;
  /** The last index with anything shared. */
  readonly shared: () => bigint;
  /** Names of the policies that a member may vouch for; null: all. */
  readonly attests: (member: string) => readonly string[] | null;
  /** Which cluster a member is; null where nobody here has members. */
  readonly clusterOf: (member: string) => string | null;
  /** By the engine of a shared mount; null where that is not here to do it. */
  readonly takeUse: (mount: string, what: JsonObject, sender: UseSender) => Promise<boolean | null>;
  /** Whether a global token with that salted hash of its secret may be used, and comes to that member; null where others write those. */
  readonly knows: (hash: string, member: string) => Promise<boolean | null>;
}

/** Who takes a use. */
export interface UseSender {
  /** As its certificate proves. */
  readonly member: string;
  /** Empty where nobody here has members. */
  readonly clusterId: string;
}

/** For the table of a set of performance secondaries. */
export function forwardServices(requests: ForwardedRequests): readonly Served<Peer>[] {
  const whole: Served<Peer>[] = [forward, ask].map((method) =>
    serveUnary(method, async (request, call) => {
      memberOf(requests, call);
      const { peer, signal } = call;
      const sender = { member: peer.id, signal, namedRegion: method === ask };
      return await answerForwarded(requests, request, sender);
    }),
  );
  return [
    ...whole,
    serveUnary(takeUse, (request, call) => answerUse(requests, request, call)),
    serveUnary(findToken, async ({ hash }, call) => answerFind(requests, hash, call)),
  ];
}

/** Which cluster it is. Throws where it was revoked, also between the call and its turn. */
function memberOf({ clusterOf }: ForwardedRequests, { peer, signal }: Call<Peer>): string {
  const known = clusterOf(peer.id);
  if (known === "" || signal.aborted) {
    throw new StatusError(Status.permissionDenied, "no member of the set");
  }
  return known ?? "";
}

const HASH = /^[\da-f]{64}$/;

async function answerFind(
  requests: ForwardedRequests,
  hash: string,
  call: Call<Peer>,
): Promise<{ readonly isKnown: boolean; readonly shared: bigint }> {
  const { knows, shared } = requests;
  memberOf(requests, call);
  if (!HASH.test(hash)) throw new StatusError(Status.invalidArgument, "no hash");
  const isKnown = await knows(hash, call.peer.id);
  if (isKnown === null) throw new StatusError(Status.failedPrecondition, "not the primary");
  return { isKnown, shared: shared() };
}

async function answerUse(
  requests: ForwardedRequests,
  { mount, what }: { readonly mount: string; readonly what: string },
  call: Call<Peer>,
): Promise<{ readonly isTaken: boolean }> {
  const sender = { member: call.peer.id, clusterId: memberOf(requests, call) };
  const isTaken = await requests.takeUse(mount, usedIn(what), sender);
  if (isTaken === null) throw new StatusError(Status.failedPrecondition, "no such mount");
  return { isTaken };
}

function usedIn(what: string): JsonObject {
  try {
    return readJson(utf8(what));
  } catch {
    throw new StatusError(Status.invalidArgument, "no use");
  }
}

/** Also what stands for a zone. */
const PRINTED = /^[\w.:%-]+$/;

/** As listeners tell it: who comes by a local socket has none. */
function isAddress(text: string): boolean {
  return text === "unix" || (PRINTED.test(text) && readAddress(text) !== null);
}

interface Sender {
  /** As its certificate proves. */
  readonly member: string;
  readonly signal: AbortSignal;
  /** The caller named this region. */
  readonly namedRegion: boolean;
}

export async function answerForwarded(
  { core, shared, attests, clusterOf }: ForwardedRequests,
  request: ForwardedRequest,
  sender: Sender,
): Promise<ForwardAnswer> {
  // What stands in records and limits is not for the member to choose.
  const known = clusterOf(sender.member);
  const isOwn = known === null || known === request.clusterId;
  if (!isOwn || !isAddress(request.address)) throw malformed();
  const from = { ...sender, attests: attests(sender.member) };
  const { result, index } = await core.handle(incomingOf(request, from));
  const isPlain = result instanceof Reply && result.index === null && index !== null;
  // As of which index it is: whoever names this region is told that of this one.
  return await sentAnswer(isPlain ? result.with({ index }) : result, shared);
}

function incomingOf(
  {
    id,
    verb,
    target,
    namespace,
    credential,
    attested,
    body,
    contentType,
    headers,
    address,
    port,
    wrapTtl,
    isWrappedAsJwt,
    wrapsItself,
    policyOverride,
    clusterId,
  }: ForwardedRequest,
  { member, signal, namedRegion, attests }: Sender & Pick<ForwardedFrom, "attests">,
): Incoming {
  const isOneOf = credential === "" || attested === null;
  if (!isUuid(id) || !isOneOf || port > 65_535) throw malformed();
  // Nobody is vouched for where it is judged for the first time, and what is written for another cluster is wrapped there.
  if (namedRegion ? attested !== null : !wrapsItself) throw malformed();
  const named = new Map(headers.map(({ name, value }) => [name, value]));
  return {
    id,
    verb,
    target,
    credential: credential === "" ? null : credential,
    namespace: namespace === "" ? null : namespace,
    wrapTtl: wrapTtl === 0n ? null : wrapTtl,
    wrapForm: isWrappedAsJwt ? "jwt" : "token",
    policyOverride,
    contentType: contentType === "" ? null : contentType,
    hasBody: body.length > 0,
    header: (name) => named.get(name),
    remote: { address, port, loopback: false },
    listener: LISTENER,
    signal,
    allow: () => {}, // the sender says how long it waits
    body: async (limit) => {
      if (body.length > limit) throw tooLarge(limit);
      return body;
    },
    stream: () => {
      throw malformed(); // what takes its body as it comes is not sent on
    },
    wipe: () => void body.fill(0),
    forwarded: {
      member,
      clusterId,
      attested: attested === null ? null : attestedBy(attested),
      attests,
      wrapsItself,
      namedRegion,
    },
  };
}
