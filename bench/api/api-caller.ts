// Calls of the API that prepare a measurement: JSON in and out, anything but success is an error. And
// the bytes of the same calls, for the load generator. What is measured goes through load.ts.

export interface Caller {
  /** Scheme, host and port. */
  readonly url: string;
  /** Sent with every request: the token, under the name by which that server knows it. */
  readonly headers: Readonly<Record<string, string>>;
}

const LONGEST_CALL_MS = 30_000;

/** `path` without /v1/. Returns the body; null when there is none. */
export async function call(
  { url, headers }: Caller,
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const answer = await fetch(`${url}/v1/${path}`, {
    method,
    headers: { ...headers, "Content-Type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(LONGEST_CALL_MS),
  });
  const text = await answer.text();
  if (!answer.ok) {
    throw new Error(`${method} ${path} was answered ${answer.status}: ${text.slice(0, 500)}`);
  }
  return text === "" ? null : JSON.parse(text);
}

export function requestBytes(
  { url, headers }: Caller,
  method: string,
  path: string,
  body?: object,
): Buffer {
  const text = body === undefined ? "" : JSON.stringify(body);
  const all: Record<string, string> = {
    Host: new URL(url).host,
    ...headers,
    ...(body && {
      "Content-Type": "application/json",
      "Content-Length": String(Buffer.byteLength(text)),
    }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} /v1/${path} HTTP/1.1\r\n${lines.join("")}\r\n${text}`);
}
