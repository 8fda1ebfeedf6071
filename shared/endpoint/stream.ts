// Bodies that never lie in memory whole: what an endpoint declares of one that it takes, and what a handler
// gives as an answer. Such bodies are not JSON, so rules on parameters and programs see nothing of them.

export interface BodyStreamRules {
  /** What the body may be called in Content-Type. */
  readonly contentTypes: readonly string[];
  /** More is refused, as soon as it is announced or has come. */
  readonly maxBytes: number;
  /** For OpenAPI. */
  readonly description: string;
}

/** The body of a request as it comes. It is read once, and no faster than the handler takes it. */
export interface BodyStream extends AsyncIterable<Uint8Array> {
  /** As announced; null when it comes in chunks. */
  readonly length: number | null;
}

/** Every content type that an answer is streamed as. */
export type StreamType = "application/octet-stream" | "application/gzip" | ForeignType;

/** What others may say that their own answers are: nothing that a browser runs or draws. */
export const FOREIGN_TYPES = [
  "application/json",
  "application/jwt",
  "application/ocsp-response",
  "application/pem-certificate-chain",
  "application/pkix-cert",
  "application/pkix-crl",
  "application/x-pem-file",
  "application/x-x509-ca-cert",
  "text/plain",
] as const;
export type ForeignType = (typeof FOREIGN_TYPES)[number];

/** What is told behind the last byte. Clients that read no trailers do without. */
export interface Trailers {
  readonly names: readonly string[];
  /** Asked when all of it is sent. */
  values(): Readonly<Record<string, string>>;
}

/** An answer that is made while it is sent. A class and not a shape, as TextBody is. */
export class StreamBody {
  readonly contentType: StreamType;
  /** Null: it is known when it ends. */
  readonly length: number | null;
  readonly trailers: Trailers | null;
  readonly #source: AsyncIterable<Uint8Array>;
  readonly #ended = Promise.withResolvers<void>();
  #taken = false;

  constructor(
    contentType: StreamType,
    source: AsyncIterable<Uint8Array>,
    options: { readonly length?: number } | { readonly trailers: Trailers } = {},
  ) {
    this.contentType = contentType;
    // HTTP/1.1 has trailers only where the length is not told.
    this.length = ("length" in options ? options.length : undefined) ?? null;
    this.trailers = "trailers" in options ? options.trailers : null;
    this.#source = source;
  }

  /** Resolves when nothing more is taken from the source: it has ended, failed or was given up. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Taken once. Whoever leaves the loop early ends the source. */
  async *chunks(): AsyncGenerator<Uint8Array, void, void> {
    if (this.#taken) throw new Error("a streamed answer is sent once");
    this.#taken = true;
    try {
      yield* this.#source;
    } finally {
      this.#ended.resolve();
    }
  }

  /** Nobody will read it: the source is ended without being asked for anything. */
  async discard(): Promise<void> {
    if (this.#taken) return;
    this.#taken = true;
    try {
      await this.#source[Symbol.asyncIterator]().return?.();
    } finally {
      this.#ended.resolve();
    }
  }
}
