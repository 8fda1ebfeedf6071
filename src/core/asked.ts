// What a handler is told of its request: the passage without its credential, headers and body.

import type { CanonicalPath } from "../base/canonical-path.ts";
import type { Clock, Nanos } from "../base/world.ts";
import type { Capability } from "../endpoint/access.ts";
import type {
  Asked,
  Caller,
  ListenerTraits,
  MountRef,
  NamespaceRef,
  Operation,
  Remote,
  WrapForm,
} from "../endpoint/request.ts";
import { ROOT_NAMESPACE } from "../endpoint/request.ts";
import { type Home, programInput } from "../policies/program-request.ts";
import { invariant } from "../base/invariant.ts";
import { homeOf } from "../endpoint/parts.ts";
import type { Passage } from "./passage.ts";
import { decisionOn } from "./decision.ts";
import { governedRequest } from "./governed-request.ts";
import type { Running, RunningRequest } from "./running.ts";
import { reaches } from "./need.ts";
import type {
  Decisions,
  Governance,
  MountTable,
  NamespaceTree,
  NodeState,
  TokenLookup,
} from "./seams.ts";

interface Parts {
  readonly decisions: Decisions;
  readonly governance: Governance;
  readonly clock: Clock;
  readonly running: Running;
  readonly tokens: TokenLookup;
  readonly namespaces: NamespaceTree;
  readonly mounts: MountTable;
  readonly node: NodeState;
}

/** By RGPs and EGPs, as of now; null where none applies. */
type JudgeAgain = (passage: Passage, asked: Asked) => Promise<void> | null;

export class AskedRequest implements Asked {
  readonly #passage: Passage;
  readonly #parts: Parts;
  readonly #entry: RunningRequest;
  readonly #judge: JudgeAgain;

  constructor(passage: Passage, parts: Parts, entry: RunningRequest, judge: JudgeAgain) {
    this.#passage = passage;
    this.#parts = parts;
    this.#entry = entry;
    this.#judge = judge;
  }

  get id(): string {
    return this.#passage.incoming.id;
  }

  get operation(): Operation {
    return this.#passage.meant?.operation ?? "read";
  }

  get namespace(): NamespaceRef {
    return this.#passage.namespace ?? ROOT_NAMESPACE;
  }

  get path(): CanonicalPath {
    const { path } = this.#passage;
    invariant(path !== null, "no handler runs without a canonical path");
    return path;
  }

  get mount(): MountRef | null {
    return this.#passage.mount;
  }

  get wrapTtl(): Nanos | null {
    return this.#passage.incoming.wrapTtl;
  }

  get wrapForm(): WrapForm {
    return this.#passage.incoming.wrapForm ?? "token";
  }

  async may(capability: Exclude<Capability, "sudo">, path: string): Promise<boolean> {
    const { caller, namespace: base } = this.#passage;
    if (caller === null || base === null) return false;
    const { decisions, governance, clock } = this.#parts;
    const { namespace, place, home } = this.#at(base, path);
    const question = { namespace, path: place, capability, sudo: false, data: {}, wrapTtl: null };
    const free = caller.type === "management";
    if (!free && !(await decisions.decide(caller, question)).allowed) return false;
    const policies = await governance.applying(caller, namespace, place);
    if (policies.length === 0) return true;
    const own = await governedRequest(this.#passage, this, clock.now());
    const asked = { namespace, path: place, operation: capability, data: {}, wrapTtl: null, home };
    const input = programInput({ ...own, ...asked, override: false }, governance.headers());
    // Whoever overrides a policy does so for a request that names the place.
    return (await governance.judge(policies, { input, override: false })).allowed;
  }

  /** Where a request to the path would go. */
  #at(base: NamespaceRef, path: string) {
    const { namespaces, mounts } = this.#parts;
    const folder = path.endsWith("/") ? "/" : "";
    const segments = path.split("/").filter((segment) => segment !== "");
    const { namespace, taken } = namespaces.resolve(base, segments);
    const rest = segments.slice(taken);
    const mount = mounts.find(namespace, rest)?.ref ?? null;
    const home: Home =
      mount === null
        ? { ...homeOf(rest), accessor: "" }
        : { point: mount.path, type: mount.type, accessor: mount.accessor };
    return { namespace, place: `${rest.join("/")}${folder}`, home };
  }

  get caller(): Caller | null {
    return this.#passage.caller;
  }

  get anonymous(): boolean {
    return this.#passage.incoming.credential === null;
  }

  async isPrivileged(): Promise<boolean> {
    return (await decisionOn(this.#passage, this.#parts.decisions, this, true)).allowed;
  }

  get remote(): Remote {
    return this.#passage.incoming.remote;
  }

  header(name: string): string | undefined {
    const low = name.toLowerCase();
    const { mount, incoming } = this.#passage;
    return mount?.headers?.request.has(low) === true ? incoming.header(low) : undefined;
  }

  get listener(): ListenerTraits {
    return this.#passage.incoming.listener;
  }

  get signal(): AbortSignal {
    return this.#passage.incoming.signal;
  }

  allow(duration: Nanos): void {
    this.#passage.incoming.allow(duration);
  }

  recheck(): Caller | null | Promise<Caller | null> {
    const caller = this.#current();
    if (caller === null) return null;
    this.#passage.caller = caller;
    const judged = this.#judge(this.#passage, this);
    return judged === null ? caller : this.#after(judged);
  }

  /** Asked again: it may have changed while it was judged. */
  async #after(judged: Promise<void>): Promise<Caller | null> {
    const before = this.#passage.caller;
    await judged;
    const now = this.#current();
    return now === null || now === before ? now : this.recheck();
  }

  #current(): Caller | null {
    const { incoming, namespace } = this.#passage;
    if (incoming.credential === null || namespace === null || this.#parts.node.sealed) return null;
    const caller = this.#parts.tokens.find(incoming.credential);
    return caller !== null && reaches(caller, namespace) ? caller : null;
  }

  stepAside(): void {
    this.#passage.aside = true;
    this.#parts.running.end(this.#entry);
  }
}
