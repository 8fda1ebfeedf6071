// A request body that is handed on while it comes. No more of it is read than the handler takes, it is
// counted as it comes, and a client has to keep a pace (shared/pace.ts).

import type { Readable } from "node:stream";
import type { BodyStream, BodyStreamRules } from "@holdfast/shared/endpoint/stream";
import type { Failure } from "@holdfast/shared/failure";
import { bodyIncomplete, bodyTooLarge, wrongMediaType } from "../failures.ts";
import { wasReset } from "./body.ts";

export interface StreamedSource {
  readonly stream: Readable;
  readonly contentType: string | null;
  readonly hasBody: boolean;
  readonly length: number | null;
  /** From now on we wait for the client, or, with false, no longer. */
  readonly waits: (waiting: boolean) => void;
  /** So many bytes have come. */
  readonly came: (bytes: number) => void;
  /** Why nothing more of it counts: its sender was answered already. */
  readonly dropReason: () => Failure | null;
}

export function streamedBody(source: StreamedSource, rules: BodyStreamRules): BodyStream {
  const { length, contentType } = source;
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? null;
  if (type === null || !rules.contentTypes.includes(type)) {
    throw wrongMediaType(rules.contentTypes.join(" or "));
  }
  if ((length ?? 0) > rules.maxBytes) throw bodyTooLarge(rules.maxBytes);
  let taken = false;
  return {
    length: source.hasBody ? length : 0,
    async *[Symbol.asyncIterator]() {
      if (taken) throw new Error("a streamed body is read once");
      taken = true;
      if (source.hasBody) yield* chunksOf(source, rules.maxBytes);
    },
  };
}

async function* chunksOf(
  { stream, length, waits, came, dropReason }: StreamedSource,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void, void> {
  let bytes = 0;
  // Left early it stays open: there is still an answer to be sent.
  const chunks = stream.iterator({ destroyOnReturn: false });
  waits(true);
  try {
    for (;;) {
      const next = await nextOf(chunks, dropReason);
      waits(false);
      const reason = dropReason();
      if (reason !== null) throw reason;
      if (next === null) break;
      bytes += next.length;
      if (bytes > maxBytes) throw bodyTooLarge(maxBytes);
      came(bytes);
      yield next;
      waits(true);
    }
  } finally {
    waits(false);
    await chunks.return?.();
  }
  if ((length !== null && bytes !== length) || wasReset(stream)) throw bodyIncomplete();
}

async function nextOf(
  chunks: AsyncIterator<Buffer>,
  dropReason: StreamedSource["dropReason"],
): Promise<Buffer | null> {
  try {
    const next = await chunks.next();
    return next.done === true ? null : next.value;
  } catch {
    throw dropReason() ?? bodyIncomplete(); // we, or the client
  }
}
