// What our server answers to a plugin of our own SDK, beside what plugins of others ask: all of it of the one mount that the
// connection is for.

import { describe, Failure } from "@holdfast/shared/failure";
import { utf8 } from "@holdfast/shared/bytes";
import { type Served, serveStream, serveUnary } from "@holdfast/shared/grpc/method";
import { readJson } from "@holdfast/shared/json/json-reader";
import type { JsonObject } from "@holdfast/shared/json/json";
import { DAY } from "@holdfast/shared/text/duration";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { OutboundError, type OutboundRequest } from "@holdfast/plugin-sdk/outbound";
import { hostService, type WireTransaction } from "@holdfast/plugin-sdk/wire/host-service";
import { PLUGIN_JSON } from "@holdfast/plugin-sdk/wire/limits";
import { failureToWire } from "@holdfast/plugin-sdk/wire/own-failure";
import { notReady, transactionRefused } from "./failures.ts";
import type { FactsFeed } from "./facts-feed.ts";
import type { Transactions } from "./transactions.ts";
import type { UnderWay } from "./under-way.ts";

export interface HostServicesParts {
  readonly needs: EngineNeeds;
  readonly isReady: () => boolean;
  readonly undoes: (kind: string) => boolean;
  readonly facts: FactsFeed;
  readonly transactions: Transactions;
  readonly underWay: UnderWay;
}

const MAX_TEXT = 4096;
const MAX_WITHIN = 600_000; // ms
const MAX_ANSWER = 64 * 1024 * 1024;
const CAPABILITIES = ["create", "read", "update", "patch", "delete", "list", "scan"] as const;

export function hostServices(parts: HostServicesParts): readonly Served<null>[] {
  const { needs, isReady, undoes, facts, transactions, underWay } = parts;
  const failureOf = (error: unknown) => {
    if (!(error instanceof Failure)) {
      needs.log.error("a plugin's call failed", { cause: describe(error) });
    }
    return failureToWire(error);
  };
  const ready = () => {
    if (!isReady()) throw notReady();
  };
  return [
    serveStream(hostService.facts, (_, { signal }) => facts.stream(signal)),
    serveUnary(hostService.transact, async (sent: WireTransaction) => {
      try {
        return await transactions.run(sent);
      } catch (error) {
        return {
          failure: failureOf(error),
          committed: false,
          time: needs.clock.now(),
          reads: [],
          ranges: [],
        };
      }
    }),
    serveUnary(hostService.note, async ({ id, data }) => {
      try {
        ready();
        if (!isUuid(id)) throw transactionRefused("a write-ahead record has a UUID");
        await needs.writeAhead.note(id, objectOf(data));
        return { failure: null };
      } catch (error) {
        return { failure: failureOf(error) };
      }
    }),
    serveUnary(hostService.orphan, async ({ kind, data, cause }) => {
      try {
        ready();
        if (!undoes(kind)) {
          throw transactionRefused("a write-ahead record is of a kind that the plugin cannot undo");
        }
        const id = await needs.writeAhead.orphan(kind, objectOf(data), cause.slice(0, MAX_TEXT));
        return { failure: null, id };
      } catch (error) {
        return { failure: failureOf(error), id: "" };
      }
    }),
    serveUnary(hostService.leases, async ({ what, place }) => {
      try {
        ready();
        return { failure: null, ...(await ofLeases(needs, what, place)) };
      } catch (error) {
        return { failure: failureOf(error), count: 0n, silent: 0 };
      }
    }),
    serveUnary(hostService.takeUse, async ({ what }) => {
      try {
        ready();
        return { failure: null, taken: await needs.uses.take(objectOf(what)) };
      } catch (error) {
        return { failure: failureOf(error), taken: false };
      }
    }),
    serveUnary(hostService.token, async ({ audience, ttl }) => {
      try {
        ready();
        if (audience.length > MAX_TEXT || ttl < 0n || ttl > DAY) {
          throw transactionRefused("a token of identity lives for at most a day");
        }
        return { failure: null, token: await needs.identity.token(audience, ttl) };
      } catch (error) {
        return { failure: failureOf(error), token: "" };
      }
    }),
    serveUnary(hostService.send, async (sent, { signal }) => {
      try {
        ready();
        const answer = await needs.outbound.send(outboundOf(sent, signal));
        return {
          trouble: "",
          message: "",
          status: answer.status,
          headers: new Map(Object.entries(answer.headers)),
          body: answer.body,
        };
      } catch (error) {
        const none = { status: 0, headers: new Map<string, string>(), body: new Uint8Array() };
        if (error instanceof OutboundError) {
          return { trouble: error.trouble, message: error.message, ...none };
        }
        failureOf(error);
        return { trouble: "unreachable", message: "the call could not be made", ...none };
      }
    }),
    serveUnary(hostService.ask, async ({ number, what, capability, path, fields, duration }) => {
      try {
        const request = underWay.of(number);
        const may = CAPABILITIES.find((one) => one === capability) ?? null;
        if (what === "may" && may !== null) {
          const said = fields === null ? undefined : objectOf(fields);
          return { failure: null, answer: await request.may(may, path, said) };
        }
        if (what === "mightEver" && may !== null) {
          return { failure: null, answer: await request.mightEver(may, path) };
        }
        if (what === "isPrivileged") {
          return { failure: null, answer: await request.isPrivileged() };
        }
        if (what === "issues") {
          await underWay.issues(number);
          return { failure: null, answer: true };
        }
        if (what === "allow" && duration > 0n) {
          request.allow(duration < MAX_ALLOWED ? duration : MAX_ALLOWED);
          return { failure: null, answer: true };
        }
        throw transactionRefused("there is no such question");
      } catch (error) {
        return { failure: failureOf(error), answer: false };
      }
    }),
    serveUnary(hostService.count, async ({ counts }) => {
      for (const { what, name, labels, value } of counts) {
        const words = Object.fromEntries(labels);
        if (what === "count") needs.metrics.count(name, words);
        else if (what === "observe" && value !== null) needs.metrics.observe(name, value, words);
        else if (what === "since") needs.metrics.since(name, value);
      }
      return {};
    }),
  ];
}

const MAX_ALLOWED = BigInt(MAX_WITHIN) * 1_000_000n;

async function ofLeases({ leases }: EngineNeeds, what: string, place: string) {
  switch (what) {
    case "count":
      return { count: BigInt(await leases.count(place)), silent: 0 };
    case "revoke":
      await leases.revoke(place);
      return { count: 0n, silent: 0 };
    case "retryStuck":
      await leases.retryStuck();
      return { count: 0n, silent: 0 };
    case "countElsewhere":
    case "revokeElsewhere": {
      const found = await leases.elsewhere(place, { revoke: what === "revokeElsewhere" });
      return { count: BigInt(found.count), silent: found.silent };
    }
    default:
      throw transactionRefused("there is no such question");
  }
}

interface SentOut {
  readonly method: string;
  readonly url: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array | null;
  readonly plain: boolean;
  readonly metadata: boolean;
  readonly identity: string;
  readonly maxBytes: number;
  readonly within: number;
}

/** The addresses by which a machine proves who it is are for nobody but the server: a plugin would be it. */
function outboundOf(sent: SentOut, signal: AbortSignal): OutboundRequest {
  if (sent.metadata) {
    throw new OutboundError("forbidden", "a plugin does not reach the identity of this machine");
  }
  const url = URL.canParse(sent.url) ? new URL(sent.url) : null;
  if (url === null) throw new OutboundError("forbidden", "what is to be called is no URL");
  if (!/^[A-Z]{1,16}$/.test(sent.method)) {
    throw new OutboundError("forbidden", "a method is a word in capitals");
  }
  for (const [name, value] of sent.headers) {
    if (
      !/^[!#$%&'*+.^_`|~\w-]{1,256}$/.test(name) ||
      /[^\t\u0020-\u007e\u0080-\u00ff]/.test(value)
    ) {
      throw new OutboundError("forbidden", "a header has what no header may have");
    }
  }
  return {
    method: sent.method,
    url,
    headers: Object.fromEntries(sent.headers),
    ...(sent.body === null ? {} : { body: sent.body }),
    signal,
    plain: sent.plain,
    identity: sent.identity.slice(0, MAX_TEXT),
    ...(sent.maxBytes === 0 ? {} : { maxBytes: Math.min(sent.maxBytes, MAX_ANSWER) }),
    ...(sent.within === 0 ? {} : { within: Math.min(sent.within, MAX_WITHIN) }),
  };
}

function objectOf(text: string): JsonObject {
  return readJson(utf8(text), PLUGIN_JSON);
}
