// All of one fake tenant: directory, subscriptions, tokens, settings, faults, and the log of calls.
// What the handlers of the three surfaces share.

import type { Duplex } from "node:stream";
import { Directory } from "./graph/directory.ts";
import { Faults, Held } from "./faults.ts";
import type { Caller, Surface } from "./model.ts";
import { Replicas, type Settings, usualSettings } from "./settings.ts";
import { Subscriptions } from "./subscriptions.ts";
import { AccessTokens } from "./access-tokens.ts";
import { Refusal } from "./refusal.ts";

/** One call, as the log shows it. No secret is in it. */
export interface Call {
  readonly number: number;
  readonly surface: Surface;
  readonly action: string;
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Milliseconds, on the fake's clock. */
  readonly at: number;
  /** Of the caller; "" before it has shown who it is. */
  clientId: string;
  /** Of the password with which the token was got; "" where none was. */
  keyId: string;
  /** 0 while it runs, and where no answer was given. */
  status: number;
  code: string;
}

export class Tenant {
  readonly id: string;
  readonly subscriptionId: string;
  readonly directory: Directory;
  readonly subscriptions: Subscriptions;
  readonly tokens: AccessTokens;
  readonly replicas: Replicas;
  readonly faults = new Faults();
  readonly held = new Held();
  /** By client id. */
  readonly permissions = new Map<string, Set<string>>();
  /** Objects whose passwords are being changed. */
  readonly busy = new Set<string>();
  readonly identityHeader: string;
  /** Proofs of identity that the token endpoint was sent, as they came. */
  readonly assertions: string[] = [];
  /** Connections that are open. */
  readonly sockets = new Set<Duplex>();
  /** Calls that are being answered; those that are held or hang are not among them. */
  working = 0;
  /** Nothing gets through. */
  cut = false;
  calls: Call[] = [];
  settings: Settings;
  /** Milliseconds. */
  offset = 0;
  readonly #now: () => number;
  #numbers = 0;
  #second = new Map<Surface, { readonly at: number; calls: number }>();

  constructor(options: {
    readonly id: string;
    readonly subscriptionId: string;
    readonly now: () => number;
    readonly knownAs: Readonly<Record<Surface, string>>;
    readonly identityHeader: string;
  }) {
    this.id = options.id;
    this.subscriptionId = options.subscriptionId;
    this.identityHeader = options.identityHeader;
    this.#now = options.now;
    const now = () => this.now();
    this.settings = usualSettings(options.knownAs);
    this.directory = new Directory(now);
    this.subscriptions = new Subscriptions(now);
    this.subscriptions.known.add(options.subscriptionId);
    this.tokens = new AccessTokens(now);
    this.replicas = new Replicas(() => this.settings, now);
  }

  now(): number {
    return this.#now() + this.offset;
  }

  logged(call: Omit<Call, "number" | "at" | "clientId" | "keyId" | "status" | "code">): Call {
    const empty = { clientId: "", keyId: "", status: 0, code: "" };
    const entry = { ...call, number: ++this.#numbers, at: this.now(), ...empty };
    this.calls.push(entry);
    return entry;
  }

  /** Whether this call is one too many for its second. */
  throttles(surface: Surface): boolean {
    const limit = this.settings.perSecond[surface];
    if (limit === undefined) return false;
    const at = Math.floor(this.now() / 1000);
    const before = this.#second.get(surface);
    const second = before?.at === at ? before : { at, calls: 0 };
    this.#second.set(surface, second);
    return ++second.calls > limit;
  }

  /** Refuses whoever has none of them. */
  permit(caller: Caller, ...anyOf: readonly string[]): void {
    if (anyOf.some((permission) => caller.permissions.has(permission))) return;
    const text = "Insufficient privileges to complete the operation.";
    throw new Refusal(403, "Authorization_RequestDenied", text);
  }

  /** Refuses whoever may change neither all applications nor this one. */
  permitApplication(caller: Caller, appId: string): void {
    // What was deleted is still owned by who owned it.
    const deleted = this.directory.deleted
      .values()
      .find(({ kind, object }) => kind === "application" && object.appId === appId)?.object;
    const gone = deleted !== undefined && "owners" in deleted ? deleted : undefined;
    const owners = (this.directory.applicationOf(appId) ?? gone)?.owners;
    const owned = owners?.has(caller.appId) ?? false;
    const all = "Application.ReadWrite.All";
    this.permit(caller, all, ...(owned ? ["Application.ReadWrite.OwnedBy"] : []));
  }
}
