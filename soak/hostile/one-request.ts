// One request on a connection of its own, from an address of the caller's choice.

import { performance } from "node:perf_hooks";
import { RawClient } from "../../tests/support/http-front.ts";

/** Status 0: it was not answered. */
export async function ask(port: number, what: string, body: string, from: string) {
  const typed = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  const head = `${what} HTTP/1.1\r\nHost: localhost\r\n${body === "" ? "" : typed}\r\n`;
  const began = performance.now();
  let client: RawClient | null = null;
  let status: number;
  try {
    client = await RawClient.connect(port, from);
    await client.send(head + body);
    status = (await client.next())?.status ?? 0;
  } catch {
    status = 0;
  } finally {
    client?.destroy();
  }
  return { status, millis: performance.now() - began };
}

export function login(port: number, name: string, password: string, from: string) {
  const body = JSON.stringify({ password });
  return ask(port, `POST /v1/auth/userpass/login/${name}`, body, from);
}
