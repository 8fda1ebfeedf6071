// From what the pipeline says to an answer: status, headers of its own and the text of the body, in one
// of the three shapes that an endpoint declares. What every answer carries is added by response-headers.ts.

import { Failure } from "@holdfast/shared/failure";
import { nothingThere, statusNotFinal } from "./failures.ts";
import type { Outcome } from "../core/incoming.ts";
import { JSON_TYPE, TextBody } from "@holdfast/shared/endpoint/output";
import { StreamBody } from "@holdfast/shared/endpoint/stream";
import type { Leased, Reply } from "@holdfast/shared/endpoint/reply";
import { RETRY_AFTER, STATUS } from "./status.ts";

export interface Answer {
  readonly status: number;
  /** Null with an empty body. */
  readonly contentType: string | null;
  readonly body: string | StreamBody;
  /** Name, value, name, value. */
  readonly headers: string[];
}

const NOTHING = nothingThere();
const NO_LEASE = '"lease_id":"","renewable":false,"lease_duration":0';
const ENVELOPE: ReadonlySet<string> = new Set([
  "request_id",
  "lease_id",
  "renewable",
  "lease_duration",
  "data",
  "wrap_info",
  "warnings",
  "auth",
  "mount_type",
]);

/** Answers that end with their headers, whatever somebody would have them hold. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

export function answerTo(outcome: Outcome, id: string): Answer {
  const { result } = outcome;
  const said = result instanceof Failure ? refusal(result, id) : success(outcome, result, id);
  const answer = BODILESS.has(said.status) ? { ...said, contentType: null, body: "" } : said;
  addHeaders(answer.headers, outcome.headers);
  if (outcome.state !== null) answer.headers.push("X-Service-State", outcome.state);
  if (outcome.family === "acl" && outcome.index !== null) {
    answer.headers.push("X-Service-Index", outcome.index.toString());
  }
  return answer;
}

/** The one form of an error, on every path. */
export function refusal(failure: Failure, id: string): Answer {
  const status = STATUS[failure.kind];
  const headers = ["X-Service-Error", errorWord(failure)];
  const retryAfter = failure.retryAfter ?? RETRY_AFTER.get(status);
  if (retryAfter !== undefined && retryAfter !== Infinity)
    headers.push("Retry-After", String(Math.ceil(retryAfter)));
  const errors = JSON.stringify(failure.texts);
  // An internal error says nothing about itself; the id leads to the log and the audit record.
  const body =
    status === 500 ? `{"errors":${errors},"request_id":"${id}"}` : `{"errors":${errors}}`;
  return { status, contentType: JSON_TYPE, body, headers };
}

/** The stable word of a refusal, in the one spelling that clients see. */
export function errorWord({ code }: Failure): string {
  return headerText(code.replaceAll("-", "_"));
}

function success(outcome: Outcome, reply: Reply, id: string): Answer {
  const { data, warnings } = reply;
  const headers: string[] = [];
  addHeaders(headers, reply.headers);
  const { status } = reply;
  // Anything below 200 announces a further answer, which would never come: sys/health lets its
  // caller choose the number.
  if (status !== null && status < 200) {
    const message = "a code below 200 cannot be the status of an answer";
    return refusal(statusNotFinal(message), id);
  }
  if (isEmptyList(outcome, reply)) {
    const { headers: own, ...rest } = refusal(NOTHING, id);
    return { ...rest, headers: [...own, ...headers] };
  }
  if (outcome.family !== "enveloped" && reply.wrapInfo === null) {
    // These shapes have no place for warnings.
    for (const warning of warningTexts(warnings)) headers.push("X-Service-Warning", warning);
    if (data === undefined) {
      // Clients of the ACL API take 200 alone for a success.
      const none = outcome.family === "acl" ? 200 : 204;
      return { status: status ?? none, contentType: null, body: "", headers };
    }
    if (data instanceof TextBody) {
      return { status: status ?? 200, contentType: data.contentType, body: data.text, headers };
    }
    if (data instanceof StreamBody) {
      return { status: status ?? 200, contentType: data.contentType, body: data, headers };
    }
    const body = outcome.pretty ? `${JSON.stringify(data, null, 4)}\n` : JSON.stringify(data);
    return { status: status ?? 200, contentType: JSON_TYPE, body: body ?? "null", headers };
  }
  // What tells of something that is gone is a refusal all the same.
  if (status === STATUS["not-found"]) headers.push("X-Service-Error", errorWord(NOTHING));
  const bare = data === undefined && reply.auth === null && reply.leased === null;
  const silent = bare && reply.wrapInfo === null && (warnings.length === 0 || status === 204);
  if (silent && (status === null || status === 204)) {
    for (const warning of warningTexts(warnings)) headers.push("X-Service-Warning", warning);
    return { status: 204, contentType: null, body: "", headers };
  }
  if (data instanceof TextBody) {
    return { status: status ?? 200, contentType: data.contentType, body: data.text, headers };
  }
  if (data instanceof StreamBody) {
    return { status: status ?? 200, contentType: data.contentType, body: data, headers };
  }
  const body = envelope(outcome, reply, id);
  return { status: status ?? 200, contentType: JSON_TYPE, body, headers };
}

// Put together as text: the members around `data` are constants, and this runs for every request.
function envelope(
  { mountType, flat }: Outcome,
  { data, warnings, auth, leased, wrapInfo }: Reply,
  id: string,
): string {
  const text = data === undefined ? "null" : JSON.stringify(data);
  const warningsText = warnings.length === 0 ? "null" : JSON.stringify(warnings);
  const token = auth === null ? "null" : JSON.stringify(auth);
  const repeated = flat && text.startsWith("{") ? members(data, text) : "";
  return (
    `{"request_id":"${id}",${leased === null ? NO_LEASE : leaseMembers(leased)},"data":${text},` +
    `"wrap_info":${wrapInfo === null ? "null" : JSON.stringify(wrapInfo)},"warnings":${warningsText},"auth":${token},"mount_type":${JSON.stringify(mountType)}${repeated}}`
  );
}

function leaseMembers({ id, renewable, seconds }: Leased): string {
  return `"lease_id":${JSON.stringify(id)},"renewable":${renewable},"lease_duration":${seconds}`;
}

/** The members of `data` once more, each behind a comma, save those whose name is taken. */
function members(data: Reply["data"], text: string): string {
  if (text === "{}" || typeof data !== "object") return "";
  const entries = Object.entries(data);
  if (!entries.some(([name]) => ENVELOPE.has(name))) return `,${text.slice(1, -1)}`;
  const free = entries.filter(([name]) => !ENVELOPE.has(name));
  const rest = JSON.stringify(Object.fromEntries(free));
  return rest === "{}" ? "" : `,${rest.slice(1, -1)}`;
}

/** A status of its own says that the handler means it. */
function isEmptyList({ operation, family }: Outcome, { data, status }: Reply): boolean {
  if (operation !== "list" || family === "acl" || status !== null) return false;
  if (data === undefined || isArray(data) || !("keys" in data)) return false;
  return Array.isArray(data.keys) && data.keys.length === 0;
}

function isArray(data: NonNullable<Reply["data"]>): data is readonly unknown[] {
  return Array.isArray(data);
}

function addHeaders(headers: string[], more: Readonly<Record<string, string>>): void {
  for (const name in more) headers.push(name, headerText(more[name] ?? ""));
}

// Clients read heads of 16 KiB, and ours may stand there in three families of names.
const WARNING_BYTES = 1024;
const WARNINGS_BYTES = 4096;

/** Warnings as headers, as many of them as any client reads; then how many there are besides. */
function warningTexts(warnings: readonly string[]): string[] {
  const texts: string[] = [];
  let bytes = 0;
  for (const warning of warnings) {
    const text = headerText(shortened(warning));
    if ((bytes += text.length) > WARNINGS_BYTES) break;
    texts.push(text);
  }
  const left = warnings.length - texts.length;
  return left === 0 ? texts : [...texts, `... and ${left} more warnings`];
}

function shortened(text: string): string {
  return text.length > WARNING_BYTES ? `${text.slice(0, WARNING_BYTES)}...` : text;
}

/** Text that may hold anything a caller named, as a header can carry it. */
function headerText(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : text.replaceAll(/[^\x20-\x7e]/g, "?");
}
