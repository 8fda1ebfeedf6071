// The side of the cluster that leaves shared data to another one: a request goes there once, and its answer is given
// when what it wrote is here.

import type { Nanos } from "@holdfast/shared/world";
import type { PrimaryCluster, Sent, SentRequest } from "../core/seams.ts";
import { tooLarge } from "./failures.ts";
import { type ForwardedRequest, MAX_SENT_BODY } from "./messages.ts";
import { Places } from "./places.ts";
import type { Primary } from "./primary.ts";
import { sentCaller } from "./sent-caller.ts";
import { replyIn } from "./sent-answer.ts";

const STALE =
  "it was done by the primary, and is not to be seen here yet: what is read in the next moments may be older";

export class SendingToPrimary implements PrimaryCluster {
  readonly #primary: Primary;
  readonly #clusterId: () => string;
  readonly #wait: Nanos;
  readonly #places = new Places();

  /** `wait`: how long an answer waits for what it has written. */
  constructor(primary: Primary, clusterId: () => string, wait: Nanos) {
    this.#primary = primary;
    this.#clusterId = clusterId;
    this.#wait = wait;
  }

  get region(): string {
    return this.#primary.region;
  }

  get isTorn(): boolean {
    return this.#primary.isTorn;
  }

  whole(within: Nanos, signal: AbortSignal): Promise<boolean> {
    return this.#primary.whole(within, signal);
  }

  async send(request: SentRequest): Promise<Sent> {
    const { signal = request.incoming.signal } = request;
    if (request.body.length > MAX_SENT_BODY) throw tooLarge(MAX_SENT_BODY);
    let by = 0;
    const answer = await this.#places.run(request, () => {
      by = this.#primary.epoch;
      return this.#primary.call(this.#messageOf(request), signal, request.isNamed);
    });
    const reply = replyIn(answer);
    const isApplied = await this.#primary.appliedUpTo(answer.shared, this.#wait, signal);
    // By the indexes of another primary nobody can tell.
    const isSeen = isApplied && this.#primary.epoch === by;
    return {
      reply: isSeen ? reply : reply.with({ warnings: [STALE] }),
      written: answer.shared,
      by,
    };
  }

  #messageOf({
    incoming,
    target,
    credential,
    attested,
    body,
    headers,
  }: SentRequest): ForwardedRequest {
    const { id, verb, namespace, contentType, wrapTtl, wrapForm, policyOverride, remote } =
      incoming;
    return {
      id,
      verb,
      target,
      namespace: namespace ?? "",
      credential: credential ?? "",
      attested: attested === null ? null : sentCaller(attested),
      body,
      contentType: contentType ?? "",
      headers: headers.flatMap((name) => {
        const value = incoming.header(name);
        return value === undefined ? [] : [{ name, value }];
      }),
      address: remote.address,
      port: remote.port,
      wrapTtl: wrapTtl ?? 0n,
      isWrappedAsJwt: wrapForm === "jwt",
      wrapsItself: true,
      policyOverride,
      clusterId: this.#clusterId(),
    };
  }
}
