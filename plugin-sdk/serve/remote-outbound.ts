// The way out of a plugin: calls are made by the server, by its rules and in its name. So a plugin needs no network.

import { asBuffer, concat, utf8 } from "@holdfast/shared/bytes";
import { callUnary, type Channel } from "@holdfast/shared/grpc/method";
import {
  type EndpointRules,
  type Outbound,
  OutboundError,
  type OutboundRequest,
  type OutboundStream,
  type OutboundTrouble,
} from "../outbound.ts";
import { fieldInvalid } from "../failure.ts";
import { hostService } from "../wire/host-service.ts";

const MAX_BODY = 64 * 1024 * 1024;
const TROUBLES: readonly OutboundTrouble[] = [
  "forbidden",
  "unreachable",
  "lost",
  "oversized",
  "aborted",
];

export function remoteOutbound(host: Channel): Outbound {
  return {
    endpoint: readEndpoint,
    send: async (request) => {
      if (request.signal.aborted) throw new OutboundError("aborted", "it was given up");
      const message = await toWire(request);
      const answer = await callUnary(host, hostService.send, message, {
        signal: request.signal,
      }).catch((cause: unknown) => {
        const isOurs = request.signal.aborted;
        const words = isOurs ? "it was given up" : "the server that makes the call was lost";
        throw new OutboundError(isOurs ? "aborted" : "lost", words, { cause });
      });
      if (answer.trouble !== "") {
        const known = TROUBLES.find((one) => one === answer.trouble) ?? "lost";
        throw new OutboundError(known, answer.message);
      }
      const { status, headers, body } = answer;
      return { status, headers: Object.fromEntries(headers), body: asBuffer(body) };
    },
  };
}

async function toWire(request: OutboundRequest) {
  const { method, url, headers, body, plain, metadata, identity, maxBytes, within } = request;
  return {
    method,
    url: url.href,
    headers: new Map(Object.entries(headers)),
    body: body === undefined ? null : await bodyOf(body),
    plain: plain ?? false,
    metadata: metadata ?? false,
    identity: identity ?? "",
    maxBytes: maxBytes ?? 0,
    within: within ?? 0,
  };
}

async function bodyOf(body: string | Uint8Array | OutboundStream): Promise<Uint8Array> {
  if (typeof body === "string") return utf8(body);
  if (body instanceof Uint8Array) return body;
  if (body.length > MAX_BODY) {
    throw new OutboundError("oversized", "a plugin sends bodies of up to 64 MiB");
  }
  const parts: Uint8Array[] = [];
  for await (const part of body.chunks) parts.push(part);
  return concat(...parts);
}

/** Its form alone: which addresses may be called is judged by the server, whenever one is. */
function readEndpoint(field: string, text: string, { plain }: EndpointRules): URL {
  const refuse = (why: string) => fieldInvalid(`${field} ${why}`);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.hostname === "") throw refuse("must be a URL such as https://host/path");
  const isPlain = url.protocol === "http:";
  if (!isPlain && url.protocol !== "https:") throw refuse("must begin with https://");
  if (isPlain && plain === false) throw refuse("must begin with https://");
  if (isPlain && plain === "loopback" && !isLoopback(url.hostname)) {
    throw refuse("must begin with https:// but for an address of this machine alone");
  }
  if (url.username !== "" || url.password !== "") throw refuse("must not hold a user or password");
  if (url.search !== "" || url.hash !== "") throw refuse("must not hold a query or fragment");
  return url;
}

function isLoopback(host: string): boolean {
  return host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
