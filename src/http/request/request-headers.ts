// The headers of a request, read once, from the raw list: Node's own object joins or drops repeated
// ones, and a repeated credential or length is how two readers come to see two requests.

import { parseBoolean } from "@holdfast/shared/text/boolean";
import { withoutSlashes } from "@holdfast/shared/text/slashes";
import { foldedUuid } from "@holdfast/shared/text/uuid";
import { DAY, parseWholeSeconds, SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Nanos } from "@holdfast/shared/world";
import type { WrapForm } from "@holdfast/shared/endpoint/request";
import {
  badHeader,
  contradiction,
  malformed,
  overrideInvalid,
  repeatedHeader,
  tokenTooLong,
  tooManyHeaders,
} from "../failures.ts";
import { AT, KNOWN, NOMAD, OWN, VAULT } from "./header-names.ts";

// How long an answer may stay wrapped.
const SHORTEST_WRAP: Nanos = SECOND;
const LONGEST_WRAP: Nanos = 365n * DAY;

const MAX_STATES = 2;

export interface HeaderRules {
  readonly headers: number;
  readonly tokenBytes: number;
  readonly compat: boolean;
  /** Whether a request may ask for the active node. Default false. */
  readonly forwardsByHeader?: boolean | undefined;
}

export class RequestHeaders {
  readonly #raw: readonly string[];
  readonly #values: (string | undefined)[];
  readonly #compat: boolean;
  readonly #forwardsByHeader: boolean;
  /** Families of names that the request uses, as bits. */
  readonly families: number;
  /** Whether a proxy says that it passes on somebody else's request. */
  readonly proxied: boolean;
  /** What the answer must not be older than. */
  readonly states: readonly string[];
  /** Null without one, and where it is not clear which one is meant. */
  readonly credential: string | null;
  /** What is wrong with the credential: for whoever looks at it. Some paths take no notice of any. */
  readonly credentialFault: Failure | null;

  /** Refuses what is repeated, contradictory or too much. `raw` is name, value, name, value. */
  constructor(raw: readonly string[], rules: HeaderRules) {
    const { headers, tokenBytes, compat, forwardsByHeader = false } = rules;
    this.#forwardsByHeader = forwardsByHeader;
    if (raw.length > headers * 2) throw tooManyHeaders(headers);
    this.#raw = raw;
    this.#compat = compat;
    const values: (string | undefined)[] = [];
    let own = 0;
    let vault = 0;
    let nomad = 0;
    let families = 0;
    let proxied = false;
    let fault: Failure | null = null;
    let states: readonly string[] = [];
    for (let at = 0; at < raw.length; at += 2) {
      const name = (raw[at] ?? "").toLowerCase();
      if (compat && name.charCodeAt(0) === 0x78) {
        if (name.startsWith("x-vault-")) families |= VAULT;
        else if (name.startsWith("x-nomad-")) families |= NOMAD;
      }
      const known = KNOWN.get(name);
      if (known === undefined) {
        if (name.charCodeAt(0) === 0x78 && name.startsWith("x-forwarded-")) proxied = true;
        continue;
      }
      if (known.family !== OWN && !compat) continue;
      if (known.kind === "between") {
        proxied = true;
        continue;
      }
      if (known.kind === "refused") {
        throw malformed(`the header ${name} is not accepted`);
      }
      const { slot, family } = known;
      const value = raw[at + 1] ?? "";
      if (slot === AT.state) {
        states = withStates(states, value);
        continue;
      }
      const bit = 1 << slot;
      const seen = family === OWN ? own : family === VAULT ? vault : nomad;
      const isCredential = slot === AT.token || slot === AT.authorization;
      if ((seen & bit) !== 0) {
        if (!isCredential) throw repeatedHeader(name);
        fault ??= repeatedHeader(name);
        continue;
      }
      if (family === OWN) own |= bit;
      else if (family === VAULT) vault |= bit;
      else nomad |= bit;
      if (slot === AT.token && value === "") continue; // as if it were not there
      const before = values[slot];
      if (before !== undefined && before !== value) {
        if (!isCredential && !meansSame(slot, before, value)) throw contradiction(name);
        if (isCredential && !isSameToken(before, value)) fault ??= contradiction(name);
      }
      values[slot] = value;
    }
    this.#values = values;
    if (states.length > 0) values[AT.state] = states.join(", ");
    this.states = states;
    this.families = families;
    this.proxied = proxied;
    const credential = this.#tokenSent();
    fault ??= credential.fault;
    if (credential.token !== null && credential.token.length > tokenBytes)
      fault ??= tokenTooLong(tokenBytes);
    // As it is looked up, so that records of one token have one hash.
    this.credential =
      fault === null && credential.token !== null ? foldedUuid(credential.token) : null;
    this.credentialFault = fault;
  }

  get host(): string | undefined {
    return this.#values[AT.host];
  }

  get origin(): string | undefined {
    return this.#values[AT.origin];
  }

  get contentType(): string | undefined {
    return this.#values[AT.contentType];
  }

  get contentEncoding(): string | undefined {
    return this.#values[AT.contentEncoding];
  }

  get transferEncoding(): string | undefined {
    return this.#values[AT.transferEncoding];
  }

  get expect(): string | undefined {
    return this.#values[AT.expect];
  }

  get preflightFor(): string | undefined {
    return this.#values[AT.requestMethod];
  }

  /** Null without the header. */
  get contentLength(): number | null {
    const text = this.#values[AT.contentLength];
    if (text === undefined) return null;
    if (!/^\d{1,15}$/.test(text)) throw badHeader("Content-Length", "a number of bytes");
    return Number(text);
  }

  get namespace(): string | null {
    const text = this.#values[AT.namespace];
    if (text === undefined) return null;
    if (!isPrintable(text)) throw badHeader("X-Service-Namespace", "printable ASCII");
    return text;
  }

  get wrapTtl(): Nanos | null {
    const text = this.#values[AT.wrapTtl];
    if (text === undefined || text === "") return null;
    const ttl = parseWholeSeconds(text);
    // Whoever asks for none of it would get the secret itself (T-E04).
    if (ttl === undefined || ttl < SHORTEST_WRAP || ttl > LONGEST_WRAP) {
      throw badHeader(
        "X-Service-Wrap-TTL",
        "a number of seconds, or a duration in whole seconds such as 90s or 1h30m, from 1s to max_lease_ttl",
      );
    }
    return ttl;
  }

  get wrapForm(): WrapForm {
    const form = this.#values[AT.wrapForm]?.toLowerCase() ?? "";
    if (form === "jwt") return "jwt";
    if (form === "" || form === "token") return "token";
    throw badHeader("X-Service-Wrap-Format", "jwt or token");
  }

  get policyOverride(): boolean {
    const value = this.#values[AT.policyOverride]?.toLowerCase() ?? "";
    if (value === "" || value === "false" || value === "0" || value === "f") return false;
    if (value === "true" || value === "1" || value === "t") return true;
    throw overrideInvalid(this.#sentAs(AT.policyOverride));
  }

  /** The loaded snapshot to recover from; null without one. */
  get recoverFrom(): string | null {
    return this.#values[AT.recoverFrom] ?? null;
  }

  /** Whether the request waits for its states. */
  get awaitsState(): boolean {
    // There is one node, which is the active one: who asks for that is there, and has what it has.
    const isTaken = this.#forwardsByHeader;
    const forward = this.#values[AT.forward]?.toLowerCase() ?? "";
    if (forward !== "" && !(isTaken && forward === "active-node")) {
      throw badHeader("X-Service-Forward", isTaken ? "active-node" : "left out: it is turned off");
    }
    const text = this.#values[AT.inconsistent]?.toLowerCase() ?? "";
    if (text === "await-state") return true;
    if (text === "" || text === "fail" || (isTaken && text === "forward-active-node")) return false;
    const more = isTaken ? ", forward-active-node" : "";
    throw badHeader("X-Service-Inconsistent", `fail${more} or await-state`);
  }

  /** Sent by our own programs, and by no page of another site. */
  get marked(): boolean {
    return this.#flag(AT.request, "X-Service-Request");
  }

  /** Every value of a header by its lower-case name; an alias stands in for our own name. */
  find(name: string): string | undefined {
    const known = KNOWN.get(name);
    if (known?.kind === "once" && (known.family === OWN || this.#compat)) {
      return this.#values[known.slot];
    }
    let found: string | undefined;
    for (let at = 0; at < this.#raw.length; at += 2) {
      if (this.#raw[at]?.toLowerCase() !== name) continue;
      const value = this.#raw[at + 1] ?? "";
      found = found === undefined ? value : `${found}, ${value}`;
    }
    return found;
  }

  /** Two that differ are refused: which one counts would depend on who looks. One that
   *  nobody can have is a credential like any other that is not known. */
  #tokenSent(): { readonly token: string | null; readonly fault: Failure | null } {
    const token = this.#values[AT.token];
    const authorization = this.#values[AT.authorization];
    const bearer = authorization === undefined ? undefined : bearerIn(authorization);
    if (bearer instanceof Failure) return { token: null, fault: bearer };
    const differ = bearer !== undefined && token !== undefined && !isSameToken(bearer, token);
    return { token: token ?? bearer ?? null, fault: differ ? contradiction("the token") : null };
  }

  /** The name under which a header came, in whichever family of names. */
  #sentAs(slot: number): string {
    const names = this.#raw.filter((_, at) => at % 2 === 0);
    return names.find((name) => KNOWN.get(name.toLowerCase())?.slot === slot) ?? "";
  }

  #flag(at: number, name: string): boolean {
    const value = this.#values[at]?.toLowerCase();
    if (value === undefined || value === "false" || value === "0" || value === "") return false;
    if (value === "true" || value === "1") return true;
    throw badHeader(name, "true or false");
  }
}

/** Clients of several regions keep one of each of two; some join them. */
function withStates(before: readonly string[], value: string): readonly string[] {
  const added = value.split(",").map((one) => one.trim());
  const states = new Set([...before, ...added.filter((one) => one !== "")]);
  if (states.size > MAX_STATES)
    throw badHeader("X-Service-State", `given ${MAX_STATES} times at most`);
  return [...states];
}

/** Other schemes are not for us. What follows the token would be read by one reader and not by another. */
function bearerIn(authorization: string): string | Failure | undefined {
  const [scheme, ...rest] = authorization.trimEnd().split(/ +/);
  if (scheme?.toLowerCase() !== "bearer") return undefined;
  if (rest.length > 1 || rest[0]?.includes("\t")) {
    return badHeader("Authorization", "Bearer and one token");
  }
  return rest[0] === "" ? undefined : rest[0];
}

/** UUIDs are the same in either case. */
function isSameToken(a: string, b: string): boolean {
  return a === b || (isUuid(a) && a.toLowerCase() === b.toLowerCase());
}

/** Two texts of one header, in the form that it is read in below. */
function meansSame(slot: number, one: string, other: string): boolean {
  switch (slot) {
    case AT.namespace:
      return withoutSlashes(one) === withoutSlashes(other);
    case AT.wrapTtl: {
      const ttl = parseWholeSeconds(one);
      return ttl !== undefined && ttl === parseWholeSeconds(other);
    }
    case AT.policyOverride:
    case AT.request: {
      const flag = parseBoolean(one.toLowerCase());
      return flag !== undefined && flag === parseBoolean(other.toLowerCase());
    }
    case AT.wrapForm:
      return one.toLowerCase() === other.toLowerCase();
    default:
      return false;
  }
}

function isPrintable(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
}
