// Calls to the world outside, as an engine makes them: through one careful client that decides which
// addresses may be called, never follows a redirect, never reads more than it was told to, and checks
// every certificate. An engine has no other way out.

export interface Outbound {
  /**
   * An endpoint that an operator has written, as it is called: http or https, a host, and no user, query
   * or fragment. Throws an "invalid" Failure whose text begins with `field`. An address is judged here and
   * whenever it is called; the addresses of a name are known only then.
   */
  endpoint(field: string, text: string, rules: EndpointRules): URL;
  /** One request, one answer, whatever its status. Throws OutboundError and nothing else. */
  send(request: OutboundRequest): Promise<OutboundAnswer>;
}

/** For those who fetch what is too large to be held. */
export interface StreamingOutbound extends Outbound {
  /** As send, but the answer's body is handed on while it comes. It must be read to its end, or left
   *  (`break`, `return()`), which cuts the connection. */
  open(request: OutboundRequest): Promise<OpenedAnswer>;
}

export interface EndpointRules {
  /** Whether http may be spoken; "loopback": with an address of this machine alone. */
  readonly plain: boolean | "loopback";
  /** As of a request to it. Default false. */
  readonly metadata?: boolean;
}

export interface OutboundRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Default none. */
  readonly body?: string | Uint8Array | OutboundStream;
  readonly signal: AbortSignal;
  /** Whether http may be spoken: default false. */
  readonly plain?: boolean;
  /** The addresses at which a machine learns of its own identity may be called. Default false. */
  readonly metadata?: boolean;
  /** Whose credentials it carries: connections are never shared between two of them. Default "". */
  readonly identity?: string;
  /** Default 1 MiB. */
  readonly maxBytes?: number;
  /** In ms: for the whole, or, where a body is streamed, without anything going on. Default 30,000. */
  readonly within?: number;
}

/** A body that never lies in memory whole. Other lengths than the announced one are an error. */
export interface OutboundStream {
  readonly length: number;
  readonly chunks: AsyncIterable<Uint8Array>;
}

export interface OpenedAnswer {
  readonly status: number;
  /** As of an OutboundAnswer. */
  readonly headers: Readonly<Record<string, string>>;
  /** Throws OutboundError and nothing else; no more than `maxBytes` come. */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface OutboundAnswer {
  readonly status: number;
  /** By lower-case name; several of one name are joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export type OutboundTrouble =
  | "forbidden" // the address may not be called
  | "unreachable" // it was never sent: name, connection, certificate
  | "lost" // it was sent, and may have had its effect; no whole answer came
  | "oversized" // an answer over the limits; the request may have had its effect
  | "aborted"; // the caller's signal; it may have had its effect

/** Its message names the host, never a path, a header or a body. */
export class OutboundError extends Error {
  readonly trouble: OutboundTrouble;

  constructor(trouble: OutboundTrouble, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "OutboundError";
    this.trouble = trouble;
  }
}
