// The way of one request through a listener: what its head alone says against it, then the pipeline,
// then the answer. It knows no socket; wires bring requests here and carry answers away.

import { clientOf } from "@holdfast/shared/text/client-address";
import { describe, Failure } from "@holdfast/shared/failure";
import { traceOf } from "@holdfast/shared/fault";
import type { Nanos } from "@holdfast/shared/world";
import { FairTurns } from "../base/fair-turns.ts";
import type { Outcome } from "../core/incoming.ts";
import { JSON_TYPE } from "@holdfast/shared/endpoint/output";
import type { ListenerTraits } from "@holdfast/shared/endpoint/request";
import { checkAnnounced } from "./request/body.ts";
import { Exchange, type Arrival, type ExchangeGround } from "./exchange.ts";
import {
  badHeader,
  bodyTooLarge,
  foreignOrigin,
  headTooLong,
  internal,
  malformed,
  memoryFull,
  nothingHere,
  requestHeaderMissing,
  timedOut,
  tooManyAbandoned,
  unsupportedVerb,
  clientEnded,
  clientGone,
} from "./failures.ts";
import { type HeldBytes, SMALL } from "./held-bytes.ts";
import type { ForwardedFor } from "./request/forwarded.ts";
import { HostRule, isOwnOrigin } from "./request/host-rule.ts";
import { LargeBodies } from "./request/large-bodies.ts";
import { ReadBlocks } from "./request/read-blocks.ts";
import type { FullSettings } from "./listener-settings.ts";
import type { HttpOptions } from "./options.ts";
import { RequestHeaders, type HeaderRules } from "./request/request-headers.ts";
import type { StreamBody } from "@holdfast/shared/endpoint/stream";
import { answerTo, errorWord, refusal, type Answer } from "./respond.ts";
import { addAliases, EVERYWHERE, ResponseHeaders } from "./response-headers.ts";
import { apiTarget, otherTarget, splitAddress } from "./request/target.ts";
import { SmallPieces } from "./small-pieces.ts";
import { PAGE_FILES } from "./ui-page.ts";

/** In a turn of the event loop that is busy. */
const BEGUN_AT_ONCE = 64;

export class Reception {
  readonly #options: HttpOptions;
  readonly #settings: FullSettings;
  readonly #hosts: HostRule;
  readonly #forwarded: ForwardedFor;
  readonly #rules: HeaderRules;
  readonly #ground: ExchangeGround;
  readonly responseHeaders: ResponseHeaders;
  readonly readBlocks: ReadBlocks;
  readonly #steps: FairTurns;
  readonly pieces: SmallPieces;
  #running = 0;
  /** How many there are of whose client has gone, by client. */
  readonly #abandoned = new Map<string, number>();

  constructor(
    options: HttpOptions,
    settings: FullSettings,
    forwarded: ForwardedFor,
    memory: HeldBytes,
  ) {
    this.#options = options;
    this.#settings = settings;
    this.#hosts = new HostRule(settings, options.apiAddress);
    this.#forwarded = forwarded;
    const { compat, forwardsByHeader } = options;
    this.#rules = { ...settings.limits, compat, forwardsByHeader };
    const listener: ListenerTraits = {
      keyCeremonies: settings.keyCeremonies,
      openings: { metrics: settings.openMetrics },
      maxBody: settings.maxRequestSize,
      metricsOnly: settings.metricsOnly,
    };
    const now = () => options.clock.elapsed();
    this.readBlocks = new ReadBlocks(options.timers);
    this.#steps = new FairTurns(options, BEGUN_AT_ONCE);
    const large = new LargeBodies(options.timers);
    const { limits, maxRequestDuration: duration } = settings;
    this.pieces = new SmallPieces(options.timers);
    this.#ground = { listener, duration, now, large, memory, limits };
    this.responseHeaders = new ResponseHeaders(settings.tls !== null, settings.responseHeaders);
  }

  /** Requests that have no answer yet. */
  get running(): number {
    return this.#running;
  }

  /** Whether streams that come now wait for a turn before anybody looks at them. */
  get isBusy(): boolean {
    return this.#steps.busy;
  }

  now(): Nanos {
    return this.#options.clock.elapsed();
  }

  receive(arrival: Arrival): Exchange {
    const exchange = new Exchange(this.#options.random.uuid(), arrival, this.#ground);
    this.#running++;
    // Hundreds of streams may come at once, and each costs something, also where it is refused by its head alone. Where
    // a request of HTTP/1.1 ends has to be known before what follows is read.
    if (arrival.http1 === null && this.isBusy) {
      this.#steps.soon({ tenant: "", client: clientOf(arrival.remote.address) }, () =>
        this.#begin(exchange, arrival),
      );
    } else this.#begin(exchange, arrival);
    return exchange;
  }

  #begin(exchange: Exchange, arrival: Arrival): void {
    if (exchange.over) return;
    try {
      if (this.#admit(exchange, arrival)) void this.#run(exchange);
    } catch (error) {
      // Whoever sends such a head may not agree with us on where its request ends.
      if (error instanceof Failure && error.kind === "invalid") arrival.wire.endAfter();
      this.#fail(exchange, error);
    }
  }

  /** The time for it is over. The handler is told, and whatever it still says is dropped. */
  expire(exchange: Exchange): void {
    this.giveUp(exchange, timedOut());
  }

  /** The same, for a reason of its own. */
  giveUp(exchange: Exchange, reason: Failure): void {
    if (exchange.over) return;
    exchange.dropReason = reason;
    exchange.abort(reason);
    this.#refuse(exchange, reason);
  }

  /** The client is gone. */
  leave(exchange: Exchange): void {
    if (exchange.over) return;
    exchange.over = true;
    this.#running--;
    if (exchange.handled) this.#abandon(exchange);
    exchange.abort(clientGone("the client is gone"));
  }

  /** The client has ended its side. Whoever waits for something for its sake need not any more; it may
   *  still read the answer. */
  listenOnly(exchange: Exchange): void {
    if (exchange.over) return;
    exchange.endSide(clientEnded());
  }

  /** For what is no request, or must not be one. The connection ends with it. */
  answerWithoutRequest(
    status: number,
    failure: Failure,
  ): { readonly headers: string[]; readonly body: string } {
    const id = this.#options.random.uuid();
    const body = `{"errors":${JSON.stringify(failure.texts)}}`;
    const headers = this.responseHeaders.start(status);
    headers.push("X-Service-Request-ID", id, "X-Service-Error", errorWord(failure));
    headers.push("Content-Type", JSON_TYPE, "Content-Length", String(Buffer.byteLength(body)));
    headers.push("Connection", "close");
    this.#options.observe({ operation: null, mountType: "", status, nanos: 0n });
    return { headers, body };
  }

  /** True when the pipeline is to see it; what was answered here is not. The order is that of cost. */
  #admit(exchange: Exchange, arrival: Arrival): boolean {
    const { verb, target, http1 } = arrival;
    const { requireRequestHeader, maxRequestSize, limits } = this.#settings;
    // Of HTTP/1.1 the parser holds the limit; what HTTP/2 tells a client of it nobody has to heed.
    if (http1 === null && headBytes(arrival) > limits.headerBytes) {
      throw headTooLong(limits.headerBytes);
    }
    if (http1 !== null && http1 !== "1.1" && http1 !== "1.0") {
      throw malformed("the protocol must be HTTP/1.1"); // the parser takes HTTP/0.9 as well
    }
    const headers = new RequestHeaders(arrival.rawHeaders, this.#rules);
    exchange.headers = headers;
    this.#hosts.check(headers.host);
    if (headers.origin !== undefined) this.#fence(exchange, headers.origin, headers.host ?? "");
    if (this.#isPreflight(exchange, headers)) return this.#preflight(exchange);
    if (headers.expect !== undefined && headers.expect.toLowerCase() !== "100-continue") {
      throw badHeader("Expect", "100-continue");
    }
    const announced = checkAnnounced(verb, headers, arrival);
    exchange.hasBody = announced.hasBody;
    exchange.length = announced.length;
    const path = http1 === null ? target : this.#pathOf(target);
    const api = apiTarget(path);
    if ((announced.length ?? 0) > maxRequestSize) {
      const request = { verb, target: api ?? "", namespace: headers.namespace };
      const max = api === null ? 0 : this.#options.core.streams(request);
      if ((announced.length ?? 0) > max) throw bodyTooLarge(Math.max(max, maxRequestSize));
    }
    if (api === null) return this.#elsewhere(exchange, path);
    if (requireRequestHeader && !headers.marked) throw requestHeaderMissing();
    exchange.target = api;
    exchange.credential = headers.credential;
    exchange.credentialFault = headers.credentialFault;
    exchange.namespace = headers.namespace;
    exchange.wrapTtl = headers.wrapTtl;
    exchange.wrapForm = headers.wrapForm;
    exchange.policyOverride = headers.policyOverride;
    exchange.recoverFrom = headers.recoverFrom;
    exchange.states = headers.states;
    exchange.awaitsState = headers.awaitsState;
    if (headers.proxied) this.#lookBehindProxy(exchange, headers);
    const { address } = exchange.remote;
    if (this.#abandoned.size > 0 && this.#abandonedBy(address) >= limits.abandonedPerAddress) {
      throw tooManyAbandoned();
    }
    return true;
  }

  /** Pages of other sites may ask only where the operator allows it; all are refused alike. */
  #fence(exchange: Exchange, origin: string, host: string): void {
    if (isOwnOrigin(origin, host, this.#settings.tls !== null)) return;
    const { browser } = this.#options;
    if (!browser.allows(origin)) throw foreignOrigin();
    exchange.cors = browser.corsHeaders(origin, exchange.verb === "OPTIONS");
  }

  /** A whole address, as proxies send it, counts as its path; its host is judged like the header's. */
  #pathOf(target: string): string {
    const whole = splitAddress(target);
    if (whole === null) return target;
    this.#hosts.check(whole.host);
    return whole.rest;
  }

  /** Every other OPTIONS is a verb that no path has. */
  #isPreflight({ verb, cors }: Exchange, { preflightFor }: RequestHeaders): boolean {
    return verb === "OPTIONS" && cors !== null && preflightFor !== undefined;
  }

  #preflight(exchange: Exchange): false {
    this.#send(exchange, { status: 204, contentType: null, body: "", headers: [] }, null);
    return false;
  }

  /** Whoever a proxy asks for is not known to be on this machine: a proxy that is believed says where
   *  its client is, as seen from where the proxy is. */
  #lookBehindProxy(exchange: Exchange, headers: RequestHeaders): void {
    const { remote } = exchange;
    const header = headers.find("x-forwarded-for");
    if (header !== undefined && this.#forwarded.believes(remote.address)) {
      exchange.remote = { ...this.#forwarded.clientOf(remote, header), loopback: false };
    } else if (remote.loopback) {
      exchange.remote = { ...remote, loopback: false };
    }
  }

  #elsewhere(exchange: Exchange, target: string): false {
    if (exchange.verb === "OPTIONS") throw unsupportedVerb();
    const place = otherTarget(target, this.#options.ui && !this.#settings.metricsOnly);
    if (exchange.verb !== "GET" && exchange.verb !== "HEAD") throw unsupportedVerb();
    if (place.to === "redirect") {
      const headers = ["Location", "/ui/"];
      this.#send(exchange, { status: 307, contentType: null, body: "", headers }, null);
      return false;
    }
    const file = PAGE_FILES.get(place.file);
    if (file === undefined) throw nothingHere();
    const headers = Object.entries(this.#options.browser.consoleHeaders())
      .filter(([name]) => !EVERYWHERE.test(name))
      .flat();
    const { contentType, text } = file;
    this.#send(exchange, { status: 200, contentType, body: text, headers }, null);
    return false;
  }

  /** What was begun is brought to its end. Whoever begins more and more and goes would have more work done at once
   *  than connections and streams allow, and others would wait for all of it. */
  #abandon(exchange: Exchange): void {
    const { address } = exchange.remote;
    exchange.abandoned = true;
    this.#abandoned.set(clientOf(address), this.#abandonedBy(address) + 1);
  }

  #abandonedBy(address: string): number {
    return this.#abandoned.get(clientOf(address)) ?? 0;
  }

  #ended({ remote: { address } }: Exchange): void {
    const left = this.#abandonedBy(address) - 1;
    if (left > 0) this.#abandoned.set(clientOf(address), left);
    else this.#abandoned.delete(clientOf(address));
  }

  async #run(exchange: Exchange): Promise<void> {
    exchange.handled = true;
    try {
      const outcome = await this.#options.core.handle(exchange);
      if (exchange.over) return;
      const answer = answerTo(outcome, exchange.id);
      this.#logFailure(exchange, outcome.result);
      this.#send(exchange, answer, outcome);
    } catch (error) {
      this.#fail(exchange, error);
    } finally {
      exchange.handled = false;
      if (exchange.abandoned) this.#ended(exchange);
      exchange.release();
    }
  }

  #fail(exchange: Exchange, error: unknown): void {
    if (error instanceof Failure) {
      this.#refuse(exchange, error);
      return;
    }
    // Ours, and never the caller's: the text says nothing, the log says what happened.
    this.#options.log.error("a request failed", { request: exchange.id, fault: traceOf(error) });
    this.#refuse(exchange, internal());
  }

  #refuse(exchange: Exchange, failure: Failure): void {
    if (exchange.over) return;
    try {
      const answer = refusal(failure, exchange.id);
      answer.headers.push(...Object.entries(failure.headers).flat());
      this.#send(exchange, answer, null);
    } catch (error) {
      // The wire itself is broken; its connection ends by its time limits.
      this.#options.log.error("an answer could not be sent", { error: describe(error) });
      this.leave(exchange);
    }
  }

  #logFailure(exchange: Exchange, result: Outcome["result"]): void {
    if (!(result instanceof Failure)) return;
    if (result.kind !== "internal" && result.kind !== "damaged") return;
    const { id } = exchange;
    this.#options.log.error("a request failed", { request: id, error: describe(result) });
  }

  #send(exchange: Exchange, answer: Answer, outcome: Outcome | null): void {
    const { status, contentType, body } = answer;
    let gone: (() => void) | null = null;
    if (typeof body === "string" && body.length > SMALL) {
      exchange.release(); // what it was made of is not needed any more
      gone = exchange.holdAnswer(body.length);
      if (gone === null) throw memoryFull();
    }
    const headers = this.responseHeaders.start(status);
    headers.push("X-Service-Request-ID", exchange.id);
    if (contentType !== null) headers.push("Content-Type", contentType);
    for (const item of answer.headers) headers.push(item);
    if (exchange.cors !== null) headers.push(...Object.entries(exchange.cors).flat());
    const families = exchange.headers?.families ?? 0;
    if (families !== 0) addAliases(headers, families);
    const now = this.now();
    if (typeof body === "string") exchange.wire.send(status, headers, body, now, gone);
    else this.#stream(exchange, status, headers, body, now);
    exchange.over = true;
    this.#running--;
    this.#options.observe({
      operation: outcome?.operation ?? null,
      mountType: outcome?.mountType ?? "",
      status,
      nanos: now - exchange.started,
    });
  }

  #stream(exchange: Exchange, status: number, headers: string[], body: StreamBody, now: Nanos) {
    exchange.wire.stream(status, headers, body, {
      headOnly: exchange.verb === "HEAD",
      now,
      broken: (error) => {
        const fault = error instanceof Failure ? describe(error) : traceOf(error);
        this.#options.log.error("an answer was cut off", { request: exchange.id, fault });
      },
    });
  }
}

/** As the head would be long in HTTP/1.1. */
function headBytes({ verb, target, rawHeaders }: Arrival): number {
  const around = 4; // ": " and the end of the line
  const fields = rawHeaders.reduce((sum, text) => sum + text.length, 0);
  return verb.length + target.length + fields + (rawHeaders.length / 2) * around;
}
