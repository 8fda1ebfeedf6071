// How cloud B says no: each of its three surfaces in its own shape.

import type { Surface } from "./model.ts";

export interface Detail {
  readonly code: string;
  readonly message: string;
  readonly target?: string;
}

export interface RefusalOptions {
  readonly details?: readonly Detail[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the token endpoint: the number in AADSTS7000215. */
  readonly number?: number;
}

export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly options: RefusalOptions;

  constructor(status: number, code: string, message: string, options: RefusalOptions = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.options = options;
  }
}

export function bodyOf(
  refusal: Refusal,
  surface: Surface,
  about: { readonly requestId: string; readonly at: number },
): object {
  const { code, message, options } = refusal;
  const { details = [], number = 50000 } = options;
  const { requestId } = about;
  const date = new Date(about.at).toISOString().slice(0, 19);
  if (surface === "authority") {
    return {
      error: code,
      error_description: `AADSTS${number}: ${message} Trace ID: ${requestId} Correlation ID: ${requestId} Timestamp: ${date}Z`,
      error_codes: [number],
      timestamp: `${date.replace("T", " ")}Z`,
      trace_id: requestId,
      correlation_id: requestId,
      error_uri: `https://login.microsoftonline.com/error?code=${number}`,
    };
  }
  if (surface === "arm") return { error: { code, message } };
  const innerError = { date, "request-id": requestId, "client-request-id": requestId };
  const more = details.length === 0 ? {} : { details };
  return { error: { code, message, ...more, innerError } };
}

/** Graph's word for "no such object", whatever its kind. */
export function notFound(id: string): Refusal {
  const text = `Resource '${id}' does not exist or one of its queried reference-property objects are not present.`;
  return new Refusal(404, "Request_ResourceNotFound", text);
}

export function badRequest(message: string, details: readonly Detail[] = []): Refusal {
  return new Refusal(400, "Request_BadRequest", message, { details });
}
