// What the three services of the provider say, read with care: their errors, each in its own shape, as
// one kind of error, and members of answers that must be there.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { ProviderError } from "../../cloud/provider-error.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

const MAX_DEPTH = 8; // of inner errors
const MAX_CODES = 32;
const MAX_RETRY_AFTER = 3600; // seconds; a provider that asks for more is asked again all the same

interface ProviderAnswer {
  readonly step: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  readonly secrets: readonly string[];
  /** Whether "not there" is said of what the call was about. */
  readonly finds: boolean;
}

/** The directory and the resource manager call it differently. */
export function requestIdIn(headers: Readonly<Record<string, string>>): string | undefined {
  return headers["request-id"] ?? headers["x-ms-request-id"];
}

export function errorIn({
  step,
  status,
  headers,
  body,
  secrets,
  finds,
}: ProviderAnswer): ProviderError {
  const { code, message, codes, requestId } = shapeOf(body);
  const throttled = status === 429 || (status === 503 && headers["retry-after"] !== undefined);
  return new ProviderError({
    step,
    code: code === "" ? `status ${status}` : code,
    codes,
    message,
    status,
    requestId: requestIdIn(headers) ?? requestId,
    // An error in an answer that calls itself a success says nothing of what became of the call.
    kind: throttled ? "throttled" : status >= 400 && status < 500 ? "refused" : "unknown",
    // Only in the provider's own words: something on the way may know nothing of the whole path.
    gone: finds && ((status === 404 && code !== "") || codes.includes("Request_ResourceNotFound")),
    retryAfter: retryAfterIn(headers),
    secrets,
  });
}

interface Shape {
  readonly code: string;
  readonly message: string;
  readonly codes: readonly string[];
  readonly requestId: string;
}

function shapeOf(body: JsonObject): Shape {
  const { error } = body;
  // As the token endpoint has it.
  if (typeof error === "string") {
    const numbers = Array.isArray(body["error_codes"]) ? body["error_codes"] : [];
    const codes = [error, ...numbers.slice(0, MAX_CODES).map(String)];
    const requestId = textIn(body, "trace_id");
    return { code: error, message: textIn(body, "error_description"), codes, requestId };
  }
  if (!isObject(error)) return { code: "", message: "", codes: [], requestId: "" };
  const codes = [textIn(error, "code")];
  for (const detail of arrayIn(error, "details").slice(0, MAX_CODES)) {
    if (isObject(detail)) codes.push(textIn(detail, "code"));
  }
  let requestId = "";
  let inner: JsonValue | undefined = error["innerError"] ?? error["innererror"];
  for (let depth = 0; isObject(inner) && depth < MAX_DEPTH; depth++) {
    codes.push(textIn(inner, "code"));
    if (requestId === "") requestId = textIn(inner, "request-id");
    inner = inner["innerError"] ?? inner["innererror"];
  }
  const message = textIn(error, "message");
  return { code: codes[0] ?? "", message, codes: codes.filter((one) => one !== ""), requestId };
}

/** Seconds; a date is not looked at, as these services never send one. */
function retryAfterIn(headers: Readonly<Record<string, string>>): number | null {
  const text = headers["retry-after"];
  if (text === undefined || !/^\d{1,9}$/.test(text)) return null;
  return Math.min(Number(text), MAX_RETRY_AFTER);
}

export function textIn(body: JsonObject, name: string): string {
  const value = Object.hasOwn(body, name) ? body[name] : undefined;
  return typeof value === "string" ? value : "";
}

export function arrayIn(body: JsonObject, name: string): readonly JsonValue[] {
  const value = Object.hasOwn(body, name) ? body[name] : undefined;
  return Array.isArray(value) ? value : [];
}

/** Those elements that are texts. */
export function textsIn(data: JsonObject, name: string): string[] {
  return arrayIn(data, name).filter((value) => typeof value === "string");
}

/** A member without which the answer is none: the call may have had its effect. */
export function neededText(step: string, body: JsonObject, name: string): string {
  const found = textIn(body, name);
  if (found !== "") return found;
  throw unreadable(step, `the answer has no ${name}`);
}

export function unreadable(step: string, message: string, status = 200): ProviderError {
  return new ProviderError({
    step,
    code: "unreadable answer",
    message,
    status,
    requestId: "",
    kind: "unknown",
    secrets: [],
  });
}
