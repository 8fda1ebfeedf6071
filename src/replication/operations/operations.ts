// What runs a disaster-recovery secondary without a token of its own: operation tokens, made from key shares there, and
// operator tickets, made on the primary. Who presents one is known by it; nothing else is.

import type { DrOperation } from "@holdfast/shared/endpoint/access";
import { type Caller, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { DR_OPERATIONS } from "@holdfast/shared/endpoint/access";
import { jsonCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import { clientOf } from "@holdfast/shared/text/client-address";
import { DAY, HOUR, SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Instant, Nanos, Random } from "@holdfast/shared/world";
import type { Barrier } from "../../barrier/barrier.ts";
import type { Tx, View } from "../../barrier/view.ts";
import type { RootAttempt, StartOptions } from "../../seal/ceremonies/root-generation.ts";
import type { SealKeeper } from "../../seal/keeper.ts";
import { fenced, notPrimary } from "../failures.ts";
import { PerMinute } from "../per-minute.ts";
import * as failures from "./failures.ts";
import { OperationTokens, TOKEN_LENGTH } from "./operation-tokens.ts";
import { isTicket, readTicket, type Ticket, ticketText, whyNot } from "./ticket.ts";

const ROWS = "replication/operation-tokens/";
const SPENT = "spent/";
const TICKETS_FROM = "tickets-from";
/** Of tickets that were spent and are not expired yet. They are made by hand. */
const MAX_SPENT = 1000;

export const MAX_TICKET_TTL: Nanos = DAY;
/** An operation token does not end by itself; one that is older is forgotten somewhere. */
const OLD: Nanos = DAY;

const LATER_PROMOTION =
  "this ticket is of before another cluster of the set was promoted; make another on the one that leads";
const BEFORE_CHANGE =
  "this ticket is of before the role of this cluster changed; make another on the primary, or an operation token from key shares";

const TOKEN_NAME = "operation token";
const TICKET_NAME = "operator ticket";

/** Of one address, in a minute. */
const ATTEMPTS = 10;
const SHARES = 30;

export interface OperationsNeeds {
  /** core/ */
  readonly node: View;
  readonly barrier: Pick<Barrier, "rootKey">;
  readonly keeper: Pick<SealKeeper, "generationOf">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** How long operation tokens are good; 0: until somebody deletes them. */
  readonly operationTokenMaxAge: Nanos;
  /** Whether shares are enough to make one. */
  readonly operationTokenAuth: "open" | "required";
  /** What this cluster is, and in which set. */
  readonly role: () => {
    readonly mode: "disabled" | "primary" | "secondary";
    readonly set: string;
    /** 0 where it is in none. */
    readonly epoch: number;
    /** Of a primary: whether another cluster leads by now. */
    readonly isFenced: boolean;
  };
}

export interface IssuedTicket extends Ticket {
  readonly text: string;
}

const fromCodec = jsonCodec<{ readonly epoch: number }>();
const spentCodec = jsonCodec<{ readonly expires: string }>();

export class Operations {
  readonly #needs: OperationsNeeds;
  readonly #rows: View;
  readonly #tokens: OperationTokens;
  readonly #log: Log;
  readonly #generation: ReturnType<SealKeeper["generationOf"]>;
  readonly #limits: Readonly<Record<"start" | "cancel" | "share", PerMinute>>;

  constructor(needs: OperationsNeeds) {
    const { node, random, keeper, clock, log } = needs;
    this.#needs = needs;
    this.#log = log.child("replication");
    this.#rows = node.sub(ROWS);
    this.#tokens = new OperationTokens(this.#rows, random);
    this.#generation = keeper.generationOf({
      length: TOKEN_LENGTH,
      open: true,
      mint: (tx) => this.#tokens.mint(tx),
    });
    this.#limits = {
      start: new PerMinute(clock, ATTEMPTS),
      cancel: new PerMinute(clock, ATTEMPTS),
      share: new PerMinute(clock, SHARES),
    };
  }

  // --- who may ---

  /** Whether who makes a token has to show one, or a ticket: junk shares of anybody spoil an attempt. */
  get guarded(): boolean {
    return this.#needs.operationTokenAuth === "required";
  }

  /** Null for one that is unknown, has ended or is not for this operation. */
  judge(text: string, operation: DrOperation, now: Instant) {
    return isTicket(text) ? this.#judgeTicket(text, operation, now) : this.#judgeToken(text, now);
  }

  #judgeToken(text: string, now: Instant) {
    const found = this.#tokens.find(text);
    if (found === null) return null;
    const { accessor, created } = found;
    const age = now - created;
    const { operationTokenMaxAge: maxAge } = this.#needs;
    if (maxAge > 0n && age >= maxAge) return null;
    const warnings =
      age < OLD
        ? []
        : [
            `this operation token is ${age / HOUR} hours old: delete it when it is no longer ` +
              "needed (sys/replication/dr/secondary/operation-token/delete)",
          ];
    return { caller: holderOf(TOKEN_NAME, accessor, created, null), warnings };
  }

  #judgeTicket(text: string, operation: DrOperation, now: Instant) {
    const ticket = readTicket(this.#needs.barrier.rootKey, text);
    if (ticket === null || this.#whyNot(ticket, operation, now) !== null) return null;
    const { id, notBefore, expires } = ticket;
    return { caller: holderOf(TICKET_NAME, id, notBefore, expires), warnings: [] };
  }

  /** Only of a ticket with the signature of the set: nobody else learns what there is. */
  refusal(text: string, operation: DrOperation, now: Instant): string | null {
    const ticket = isTicket(text) ? readTicket(this.#needs.barrier.rootKey, text) : null;
    return ticket === null ? null : this.#whyNot(ticket, operation, now);
  }

  #whyNot(ticket: Ticket, operation: DrOperation, now: Instant): string | null {
    const { set, epoch } = this.#needs.role();
    const wrong = whyNot(ticket, { set, operation, now });
    if (wrong !== null) return wrong;
    // A later epoch is known: the promotion that it was for has been, maybe with this very ticket, elsewhere.
    if (operation === "promote" && ticket.epoch < epoch) return LATER_PROMOTION;
    if (this.#rows.get(SPENT + ticket.id, spentCodec) !== null)
      return failures.ticketSpent().message;
    const from = this.#rows.get(TICKETS_FROM, fromCodec);
    return from !== null && ticket.epoch < from.epoch ? BEFORE_CHANGE : null;
  }

  // --- the ceremony ---

  progress(): RootAttempt {
    return this.#generation.progress();
  }

  async start(options: StartOptions, address: string): Promise<RootAttempt> {
    this.#limit("start", address);
    if (isArmored(options.pgpKey ?? "")) throw failures.armored();
    const attempt = await this.#generation.start(options);
    this.#log.info("an attempt at an operation token was started", {
      event: "operation-token.started",
      address,
    });
    return attempt;
  }

  async update(share: { key: string; nonce: string }, address: string): Promise<RootAttempt> {
    this.#limit("share", address);
    const attempt = await this.#update(share, address);
    if (attempt.complete) {
      this.#log.warn("an operation token was issued", { event: "operation-token.issued", address });
    }
    return attempt;
  }

  async #update(share: { key: string; nonce: string }, address: string): Promise<RootAttempt> {
    try {
      return await this.#generation.update(share);
    } catch (error) {
      const code = error instanceof Failure ? error.code : "internal";
      this.#log.warn("a share for an operation token was refused", {
        event: "operation-token.failed",
        address,
        code,
      });
      throw error;
    }
  }

  /** Anybody may, as anybody may start one. A nonce makes sure that it is this attempt. */
  async cancel(nonce: string | undefined, address: string): Promise<void> {
    this.#limit("cancel", address);
    await this.#generation.cancel({ nonce, authorised: true });
  }

  #limit(what: "start" | "cancel" | "share", address: string): void {
    const wait = this.#limits[what].take(clientOf(address));
    if (wait > 0) throw failures.tooOften(wait);
  }

  // --- the end of them ---

  /** Of the one that was presented. A ticket is not taken here any more. */
  async delete(caller: Caller): Promise<void> {
    if (caller.name === TICKET_NAME) await this.#rows.write((tx) => this.spend(tx, caller));
    else await this.#tokens.delete(caller.accessor);
    this.#log.info(`an ${caller.name} was deleted`, {
      event: "operation-token.deleted",
      accessor: caller.accessor,
    });
  }

  /** One that is not to be taken again, in whatever transaction it has done its work. Nothing happens with an operation
   *  token. */
  spend(tx: Tx, { name, accessor, expires }: Caller): void {
    if (name !== TICKET_NAME || expires === null) return;
    const rows = tx.on(this.#rows);
    // Another request with the same one was quicker.
    if (rows.get(SPENT + accessor, spentCodec) !== null) throw failures.ticketSpent();
    for (const { key, value } of rows.records(SPENT, spentCodec, { limit: MAX_SPENT })) {
      if (BigInt(value.expires) <= tx.time) rows.delete(key);
    }
    rows.put(SPENT + accessor, { expires: String(expires) }, spentCodec);
  }

  /** In the transaction after which this cluster is no secondary any more. Tickets of before are not taken when it is one
   *  again, whoever has them: nothing that was meant for this change makes another. */
  revokeAll(tx: Tx): void {
    this.#tokens.revokeAll(tx);
    const epoch = this.#needs.role().epoch + 1;
    tx.on(this.#rows).put(TICKETS_FROM, { epoch }, fromCodec);
  }

  /** In the transaction after which others know tokens here: those that were made for want of them. */
  endTokens(tx: Tx): void {
    this.#tokens.revokeAll(tx);
  }

  /** In the transaction in which later epochs than this are given up: the primary that is followed issues tickets of this one. */
  takeFrom(tx: Tx, epoch: number): void {
    const rows = tx.on(this.#rows);
    const from = rows.get(TICKETS_FROM, fromCodec);
    if (from !== null && from.epoch > epoch) rows.put(TICKETS_FROM, { epoch }, fromCodec);
  }

  // --- tickets ---

  issue(names: readonly string[], ttl: Nanos): IssuedTicket {
    const { clock, random, barrier, role } = this.#needs;
    const { mode, set, epoch, isFenced } = role();
    if (mode !== "primary") throw notPrimary();
    if (isFenced) throw fenced();
    const operations = DR_OPERATIONS.filter((known) => names.includes(known));
    if (operations.length === 0 || operations.length < new Set(names).size) {
      throw failures.operationUnknown(DR_OPERATIONS);
    }
    const now = clock.now();
    const notBefore = now - (now % SECOND);
    const ticket: Ticket = {
      id: random.uuid(),
      set,
      epoch,
      operations,
      notBefore,
      expires: notBefore + ttl - (ttl % SECOND),
    };
    this.#log.info("an operator ticket was issued", {
      id: ticket.id,
      operations: operations.join(" "),
    });
    return { ...ticket, text: ticketText(barrier.rootKey, ticket) };
  }
}

/** Key holders have made it together, or an operator of the primary has: nothing stands above them here. */
function holderOf(
  name: string,
  accessor: string,
  created: Instant,
  expires: Instant | null,
): Caller {
  return {
    accessor,
    type: "management",
    name,
    policies: [],
    namespace: ROOT_NAMESPACE,
    global: false,
    created,
    expires,
  };
}

/** In itself, or under base64. */
function isArmored(key: string): boolean {
  const start = "-----BEGIN";
  return key.trimStart().startsWith(start) || key.startsWith(btoa(start.slice(0, 9)));
}
