// The tokens of the server: one store, whatever the API they are seen through. Finds the owner of a
// secret, makes and deletes tokens. What a token may do is not decided here.

import { Failure } from "../base/failure.ts";
import type { Log } from "../base/log.ts";
import type { Clock, Instant, Random, Timers } from "../base/world.ts";
import type { Tx, View } from "../barrier/view.ts";
import type { Caller, NamespaceRef } from "../endpoint/request.ts";
import { BootstrapDoor } from "./bootstrap.ts";
import { type TokenEnding, TokenExpiry } from "./expiry.ts";
import { tokensClosed } from "./failures.ts";
import { FirstTokenMint, type FirstTokenOptions } from "./first-tokens.ts";
import { Minting } from "./minting.ts";
import type { NewToken } from "./new-token.ts";
import { Salt } from "./salt.ts";
import type { Token } from "./token.ts";
import { TokenCache } from "./token-cache.ts";
import { recordsOf, type TokenPlace, TokenRows } from "./token-rows.ts";

const MOST_CACHED = 10_000;
const WIPED_AT_ONCE = 16; // see expiry.ts

export interface NamespacesById {
  /** Null when there is none, or it is being deleted. */
  byId(id: string): NamespaceRef | null;
}

export interface TokensOptions {
  /** Of everything below shared/, and below local/. */
  readonly shared: View;
  readonly local: View;
  readonly namespaces: NamespacesById;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  /** What goes with a token. Default: nothing hangs on one. */
  readonly ending?: TokenEnding | undefined;
  readonly firstToken?: FirstTokenOptions | undefined;
  /** How many callers are kept in memory. Default 10,000, about 10 MB. */
  readonly mostCached?: number | undefined;
}

export class Tokens {
  /** For the keeper of the seal; works before the room is open. */
  readonly first: FirstTokenMint;
  readonly #options: TokensOptions;
  readonly #log: Log;
  readonly #rows: TokenRows;
  readonly #minting: Minting;
  readonly #door: BootstrapDoor;
  readonly #expiry: TokenExpiry;
  readonly #ending: TokenEnding;
  readonly #cache: TokenCache;
  readonly #followed = new Map<string, () => void>();
  #unwatchEnded = () => {};
  #salt: Salt | null = null;

  constructor(options: TokensOptions) {
    const { shared, local, clock, timers, random } = options;
    this.#options = options;
    this.#log = options.log.child("tokens");
    this.#rows = new TokenRows(shared, local);
    this.#minting = new Minting(this.#rows, random);
    this.#ending = options.ending ?? { ends: () => {} };
    this.#cache = new TokenCache(options.mostCached ?? MOST_CACHED);
    this.#door = new BootstrapDoor(shared, timers, this.#log);
    const { firstToken = {} } = options;
    this.first = new FirstTokenMint(this.#rows, this.#minting, random, firstToken);
    const ground = { rows: this.#rows, ending: this.#ending, clock, timers, log: this.#log };
    this.#expiry = new TokenExpiry(ground);
  }

  // --- life ---

  /** After the barrier is open and before anything is served. */
  open(): void {
    this.#salt = Salt.read(this.#options.shared);
    this.#unwatchEnded = this.#rows.onEnded((accessor) => this.#cache.drop(accessor));
    this.#door.open();
    this.#expiry.open();
  }

  async close(): Promise<void> {
    this.#door.close();
    await this.#expiry.close();
    this.#unwatchEnded();
    for (const unfollow of this.#followed.values()) unfollow();
    this.#followed.clear();
    this.#cache.clear();
    this.#salt?.wipe();
    this.#salt = null;
  }

  /** Whether the first caller may still make itself management. */
  get bootstrapOpen(): boolean {
    return this.#door.isOpen;
  }

  /** How many callers are kept in memory. */
  get cached(): number {
    return this.#cache.size;
  }

  // --- finding ---

  /**
   * The owner of a secret; null for unknown, deleted and expired ones alike. Its namespace is for the
   * pipeline to compare. The same Caller for the same token until that changes.
   */
  find(secret: string): Caller | null {
    if (secret === "") return null;
    const hash = this.#unsealed().hashOf(secret);
    const caller = this.#cache.get(hash) ?? this.#load(hash);
    if (caller === null) return null;
    if (isOver(caller, this.#options.clock.now())) return null;
    const current = this.#options.namespaces.byId(caller.namespace.id);
    if (current === null) return null;
    if (isSame(current, caller.namespace)) return caller;
    this.#cache.drop(caller.accessor);
    return { ...caller, namespace: current };
  }

  /** Expired ones too, until they are collected. */
  byAccessor(namespaceId: string, accessor: string): Token | null {
    return isKeyPart(accessor) ? this.#rows.byAccessor(namespaceId, accessor.toLowerCase()) : null;
  }

  /** Index of the last change to the tokens of a namespace. */
  tableIndex(namespaceId: string): bigint {
    return this.#rows.tableIndex(namespaceId);
  }

  // --- making and ending ---

  create(spec: NewToken): Promise<Token> {
    return this.#options.shared.write((tx) => this.#minting.mint(tx, this.#unsealed(), spec));
  }

  /** What was deleted, or null when there was none. Nobody is let in by it from here on. */
  async delete(namespaceId: string, accessor: string): Promise<Token | null> {
    if (!isKeyPart(accessor)) return null;
    const remove = (tx: Tx) => {
      const token = this.#rows.byAccessor(namespaceId, accessor.toLowerCase(), tx);
      if (token !== null) this.#remove(tx, token);
      return token;
    };
    return this.#options.shared.write(remove, { essential: true });
  }

  /** Every token of a namespace that is going away, a few at a time so that others get their turn. */
  async wipeNamespace(namespaceId: string): Promise<void> {
    for (;;) {
      const places = this.#rows.accessors(namespaceId, WIPED_AT_ONCE);
      if (places.length === 0) return;
      const remove = (tx: Tx) => {
        for (const place of places) {
          const token = this.#readable(place, tx);
          if (token === null) this.#rows.removeUnread(tx, place);
          else this.#remove(tx, token);
        }
      };
      await this.#options.shared.write(remove, { essential: true });
    }
  }

  // --- inside ---

  #remove(tx: Tx, token: Token): void {
    const ended = this.#rows.hasEnded(token, tx);
    this.#rows.remove(tx, token, this.#unsealed().hashOf(token.secret.reveal()));
    if (!ended) this.#ending.ends(tx, token);
  }

  #load(hash: string): Caller | null {
    const place = this.#rows.placeOf(hash);
    if (place === null) return null;
    this.#follow(place.namespaceId);
    const token = this.#readable(place);
    // A hash that leads to a record with another secret is nobody's.
    if (token === null || this.#unsealed().hashOf(token.secret.reveal()) !== hash) return null;
    if (this.#rows.hasEnded(token)) return null;
    const namespace = this.#options.namespaces.byId(place.namespaceId);
    if (namespace === null) return null;
    const { accessor, type, name, policies, global, created, expires } = token;
    const caller = { accessor, type, name, policies, namespace, global, created, expires };
    if (!isOver(token, this.#options.clock.now())) this.#cache.put(hash, caller);
    return caller;
  }

  /** Null for one that is not there, and for one that nobody may be let in by. */
  #readable(place: TokenPlace, tx?: Tx): Token | null {
    try {
      return this.#rows.at(place, tx);
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "token-record-unusable") throw error;
      this.#log.error("a stored token is refused", { accessor: place.accessor });
      return null;
    }
  }

  /** From the first look at a namespace's tokens on, so that a change counts for the next request. */
  #follow(namespaceId: string): void {
    if (this.#followed.has(namespaceId)) return;
    const { shared, local } = this.#options;
    const folder = recordsOf(namespaceId);
    const drop = ({ keys }: { readonly keys: readonly string[] }) => {
      for (const key of keys) this.#cache.drop(key.slice(folder.length));
    };
    const unfollow = [shared.watch(folder, drop), local.watch(folder, drop)];
    this.#followed.set(namespaceId, () => unfollow.forEach((end) => end()));
  }

  #unsealed(): Salt {
    if (this.#salt === null) throw tokensClosed();
    return this.#salt;
  }
}

/** Valid up to and including the instant of its expiry. */
function isOver({ expires }: Pick<Caller, "expires">, now: Instant): boolean {
  return expires !== null && expires < now;
}

function isSame(a: NamespaceRef, b: NamespaceRef): boolean {
  return a.id === b.id && a.path === b.path && a.created === b.created;
}

function isKeyPart(accessor: string): boolean {
  return /^[0-9a-fA-F-]{36}$/.test(accessor);
}
