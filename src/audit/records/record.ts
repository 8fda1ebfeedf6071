// The text of a record: one line of JSON, built as text, since trees of objects would cost more than
// the hashing. Request and response of one request share their middle part, which is made once.
// docs/formats/audit.md describes the members.

import { SECOND } from "@holdfast/shared/text/duration";
import type { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { RenewedMap } from "@holdfast/shared/renewed-map";
import { showTime } from "@holdfast/shared/text/time";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Clock, Instant } from "@holdfast/shared/world";
import type { AuthBlock } from "@holdfast/shared/endpoint/auth";
import type { WrapInfo } from "@holdfast/shared/endpoint/reply";
import type { Caller } from "@holdfast/shared/endpoint/request";
import type { AuditedAnswer, AuditedRequest } from "../../endpoint/audited.ts";
import { ClearingMap } from "./clearing-map.ts";
import type { Veil } from "./hasher.ts";
import { quote } from "@holdfast/shared/json/json-text";
import { maskedJson, Repeats } from "./masking.ts";

// More than may be parked; beyond, some texts are made twice.
const MAX_UNANSWERED = 16_384;
const MAX_KEPT = 32 * 1024 * 1024; // characters of them
const FEW_POLICIES = 16;
const SHORT = 4096; // characters that are kept with their request, and go with it

export interface RecordFormat {
  readonly hmacAccessor: boolean;
  /** Lists are shown as the number of their keys. */
  readonly elideLists: boolean;
  readonly prefix: string;
}

/** A header that is recorded. */
export interface HeaderRule {
  readonly name: string; // lower case
  readonly hmac: boolean;
}

/** Where this server stands; ids may become known only after a start. */
export interface ClusterFacts {
  readonly clusterId: () => string;
  readonly region: () => string;
}

export interface RecordParts {
  readonly veil: Veil;
  readonly format: RecordFormat;
  readonly cluster: ClusterFacts;
  readonly headers: () => readonly HeaderRule[];
  readonly clock: Pick<Clock, "now">;
}

/** Of a request that is not answered yet, and goes with it. */
class Kept {
  readonly by: Records;
  readonly text: string;
  readonly repeats: Repeats | null;

  constructor(by: Records, text: string, repeats: Repeats | null) {
    this.by = by;
    this.text = text;
    this.repeats = repeats;
  }
}

/** What records say of a caller, before what was decided and behind it. */
interface CallerText {
  readonly who: string;
  readonly terms: string;
}

export class Records {
  readonly #parts: RecordParts;
  readonly #times = new TimeText();
  readonly #callers = new ClearingMap<Caller, CallerText>(1024);
  /** Of requests that are not answered yet, where they are long, by their id: one that is judged again has another value, and
   *  the first would stay here. A WeakMap would cost the collector more than it saves. */
  readonly #middles = new RenewedMap<string, { of: AuditedRequest; text: string }>();
  #kept = 0; // characters of them
  /** Of the last answer that cannot change: a write may be told to thousands who waited for it. */
  #lastData: {
    readonly data: JsonValue;
    readonly readable: unknown;
    readonly text: string;
  } | null = null;

  constructor(parts: RecordParts) {
    this.#parts = parts;
  }

  request(request: AuditedRequest, error: string): string {
    const repeats = request.data === null ? null : new Repeats();
    const middle = this.#middle(request, repeats);
    this.#keep(request, middle, repeats?.closed() ?? null);
    const time = this.#times.show(request.time);
    const { prefix } = this.#parts.format;
    return `${prefix}{"time":"${time}","type":"request",${middle},"error":${quote(error)},"forwarded_from":${quote(request.forwarded?.member ?? "")}}`;
  }

  response(request: AuditedRequest, answer: AuditedAnswer): string {
    const {
      data,
      warnings,
      error,
      auth = null,
      leaseId = "",
      wrapInfo = null,
      noted = null,
    } = answer;
    const { kept } = request;
    const repeats = kept instanceof Kept && kept.by === this ? kept.repeats : null;
    const middle = this.#taken(request) ?? this.#middle(request, null);
    const time = this.#times.show(this.#parts.clock.now());
    const { prefix } = this.#parts.format;
    const dataText = this.#answer(request, data, repeats);
    return (
      `${prefix}{"time":"${time}","type":"response",${middle},"response":{"mount_type":` +
      `${quote(request.mountType)},"data":${dataText},${auth === null ? "" : `"auth":${this.#authText(auth)},`}"secret":{"lease_id":${quote(leaseId)}},"wrap_info":${wrapInfo === null ? "null" : this.#wrapped(wrapInfo)},` +
      `${noted === null ? "" : `"noted":${notes(noted)},`}"warnings":${texts(warnings)}},"error":${quote(error)},"forwarded_from":${quote(request.forwarded?.member ?? "")}}`
    );
  }

  #keep(request: AuditedRequest, text: string, repeats: Repeats | null): void {
    this.#taken(request);
    if (request.kept === null && text.length <= SHORT) {
      request.kept = new Kept(this, text, repeats);
      return;
    }
    if (this.#middles.size >= MAX_UNANSWERED) {
      this.#middles.clear();
      this.#kept = 0;
    }
    if (this.#kept + text.length > MAX_KEPT) return;
    this.#kept += text.length;
    this.#middles.set(request.id, { of: request, text });
  }

  /** What was kept of this very request; of whatever else had its id nothing is left either. */
  #taken(request: AuditedRequest): string | null {
    const { kept: own } = request;
    if (own instanceof Kept && own.by === this) {
      request.kept = null;
      return own.text;
    }
    if (this.#middles.size === 0) return null;
    const kept = this.#middles.get(request.id);
    if (kept === undefined) return null;
    this.#middles.delete(request.id);
    this.#kept -= kept.text.length;
    return kept.of === request ? kept.text : null;
  }

  /** Says nothing but that the device works. */
  test(device: string): string {
    const time = this.#times.show(this.#parts.clock.now());
    return `${this.#parts.format.prefix}{"time":"${time}","type":"test","device":${quote(device)}}`;
  }

  #middle(request: AuditedRequest, repeats: Repeats | null): string {
    const { veil, cluster } = this.#parts;
    const { credential, caller, namespace, remote } = request;
    const token = credential === null ? '""' : veil.token(credential);
    const accessor = caller === null ? '""' : this.#accessor(caller);
    const auth = caller === null ? "null" : this.#auth(request, caller, token, accessor);
    const data = maskedJson(request.data ?? {}, veil, request.readable?.request, repeats);
    const wrapTtl = request.wrapTtl === null ? 0n : request.wrapTtl / SECOND;
    return (
      `"auth":${auth},"request":{"id":${quote(request.id)},"operation":"${request.operation}",` +
      `${place(request.path, request.rawPath)},"mount_point":${quote(request.mountPoint)},` +
      `"mount_type":${quote(request.mountType)},` +
      `"mount_accessor":${quote(request.mountAccessor ?? "")},` +
      `"namespace":{"id":${quote(namespace.id)},` +
      `"path":${namespace.path === "" ? '""' : quote(`${namespace.path}/`)}},` +
      `"client_token":${token},"client_token_accessor":${accessor},"data":${data},` +
      `"remote_address":${quote(remote.address)},"remote_port":${remote.port},` +
      `"wrap_ttl":${wrapTtl},"policy_override":${request.policyOverride},${governing(request)}${snapshot(request)}` +
      `"headers":${this.#headers(request)},"replication_cluster":${quote(request.forwarded?.clusterId ?? cluster.clusterId())},` +
      `"region":${quote(cluster.region())}}`
    );
  }

  #auth(request: AuditedRequest, caller: Caller, token: string, accessor: string): string {
    const { who, terms } = this.#callerText(caller, accessor);
    return `{"client_token":${token},${who},"policy_results":${results(request)},${terms}}`;
  }

  /** A caller is one value for as long as its token does not change. */
  #callerText(caller: Caller, accessor: string): CallerText {
    // Long lists are made anew: a thousand of them would be held.
    if (caller.policies.length > FEW_POLICIES) return this.#makeCallerText(caller, accessor);
    return this.#callers.get(caller, () => this.#makeCallerText(caller, accessor));
  }

  #makeCallerText(caller: Caller, accessor: string): CallerText {
    // The built-in policy of every client token is not in its list.
    const policies =
      caller.type === "client" && caller.withoutDefault !== true
        ? texts(["default", ...caller.policies.filter((name) => name !== "default")])
        : texts(caller.policies);
    const ttl = caller.expires === null ? 0n : (caller.expires - caller.created) / SECOND;
    return {
      who:
        `"accessor":${accessor},"display_name":${quote(caller.name)},` +
        `"policies":${policies},"token_policies":${policies}`,
      terms:
        `"token_type":"service","token_ttl":${ttl},` +
        `"token_issue_time":"${showTime(caller.created)}","type":"${caller.type}"`,
    };
  }

  /** A token that the answer gives out. */
  #authText(auth: AuthBlock): string {
    const { veil } = this.#parts;
    const token = auth.client_token === "" ? '""' : veil.token(auth.client_token);
    return (
      `{"client_token":${token},"accessor":${this.#accessor(auth)},` +
      `"policies":${texts(auth.policies)},"token_policies":${texts(auth.token_policies)},` +
      `"metadata":${maskedJson(auth.metadata, veil)},"token_type":${quote(auth.token_type)},` +
      `"token_ttl":${auth.lease_duration},"renewable":${auth.renewable},` +
      `"orphan":${auth.orphan},"num_uses":${auth.num_uses}}`
    );
  }

  #wrapped({
    token,
    accessor,
    ttl,
    creation_time,
    creation_path,
    wrapped_accessor,
  }: WrapInfo): string {
    const { veil } = this.#parts;
    const inside = wrapped_accessor === "" ? '""' : this.#accessor({ accessor: wrapped_accessor });
    return (
      `{"token":${veil.token(token)},"accessor":${this.#accessor({ accessor })},"ttl":${ttl},` +
      `"creation_time":${quote(creation_time)},"creation_path":${quote(creation_path)},` +
      `"wrapped_accessor":${inside}}`
    );
  }

  #accessor({ accessor }: Pick<Caller, "accessor">): string {
    const { veil, format } = this.#parts;
    return format.hmacAccessor ? veil.accessor(accessor) : quote(accessor);
  }

  #headers(request: AuditedRequest): string {
    let out = "";
    for (const { name, hmac } of this.#parts.headers()) {
      const header = request.header(name);
      if (header === undefined) continue;
      const text = hmac ? this.#parts.veil.value(header) : quote(header);
      out += `${out === "" ? "" : ","}${quote(name)}:[${text}]`;
    }
    return `{${out}}`;
  }

  #answer(request: AuditedRequest, data: JsonValue | undefined, repeats: Repeats | null): string {
    if (data === undefined) return "null";
    const { format, veil } = this.#parts;
    const readable = request.readable?.response;
    if (format.elideLists && request.operation === "list") {
      return maskedJson(counted(data), veil, readable);
    }
    if (this.#lastData?.data === data && this.#lastData.readable === readable)
      return this.#lastData.text;
    const text = maskedJson(data, veil, readable, repeats);
    if (typeof data === "object" && Object.isFrozen(data))
      this.#lastData = { data, readable, text };
    return text;
  }
}

function notes(noted: Readonly<Record<string, string>>): string {
  const members = Object.entries(noted).map(([name, value]) => `${quote(name)}:${quote(value)}`);
  return `{${members.join(",")}}`;
}

/** A path that was refused for its spelling is kept apart from those that mean something. */
function place(path: CanonicalPath | null, rawPath: string | null): string {
  if (path === null) return `"path":"","raw_path":${quote(rawPath ?? "")}`;
  return `"path":${quote(path.folder && path.text !== "" ? `${path.text}/` : path.text)}`;
}

/** What was decided in the end; null where no policy was asked. */
function results({ decision, judgement = null }: AuditedRequest): string {
  if (decision === null && judgement === null) return "null";
  const granting = (decision?.granting ?? []).map(
    ({ name, namespaceId }) =>
      `{"name":${quote(name)},"namespace_id":${quote(namespaceId)},"type":"acl"}`,
  );
  const allowed = decision?.allowed !== false && judgement?.allowed !== false;
  return `{"allowed":${allowed},"granting_policies":[${granting.join(",")}]}`;
}

/** Beside the request and not in `auth`: EGPs judge those too who have no token yet. An error names a
 *  key that is missing or a limit, but nobody can promise that it never quotes a value. */
function governing({ judgement = null, policyOverride }: AuditedRequest): string {
  const needed = policyOverride
    ? `"policy_override_needed":${judgement?.overrideNeeded ?? false},`
    : "";
  if (judgement === null) return needed;
  const judged = judgement.results.map(
    ({ kind, name, namespaceId, level, passed, error }) =>
      `{"type":"${kind}","name":${quote(name)},"namespace_id":${quote(namespaceId)},` +
      `"enforcement_level":"${level}","result":"${passed ? "pass" : error === null ? "fail" : "error"}"}`,
  );
  return `${needed}"governing_policies":[${judged.join(",")}],`;
}

/** Only what can be the id of one stands there as it is: it is the caller's text. */
function snapshot({ snapshotId = null }: AuditedRequest): string {
  if (snapshotId === null) return "";
  return `"snapshot_id":${isUuid(snapshotId) ? quote(snapshotId.toLowerCase()) : '""'},`;
}

function texts(list: readonly string[]): string {
  return list.length === 0 ? "[]" : `[${list.map(quote).join(",")}]`;
}

function counted(data: JsonValue): JsonValue {
  if (!isObject(data)) return data;
  const { keys, key_info: info } = data;
  return {
    ...data,
    ...(Array.isArray(keys) ? { keys: keys.length } : {}),
    ...(isObject(info) ? { key_info: Object.keys(info).length } : {}),
  };
}

// --- time text ---

// Times as records show them: nanoseconds, always nine digits. Two thousand records share a second,
// so the text before the fraction is kept.

export class TimeText {
  #second = -1n;
  #text = "";

  show(instant: Instant): string {
    const second = instant / SECOND;
    if (second !== this.#second) {
      this.#second = second;
      this.#text = showTime(second * SECOND).slice(0, -1);
    }
    const fraction = Number(instant - second * SECOND) + 1_000_000_000;
    return `${this.#text}.${String(fraction).slice(1)}Z`;
  }
}
