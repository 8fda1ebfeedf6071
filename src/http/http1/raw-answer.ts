// An answer in its bytes, for what never became a request that Node could answer.

import { STATUS_CODES } from "../../base/node-http.ts";

/** `headers` is name, value, name, value. */
export function rawAnswer(status: number, headers: readonly string[], body: string): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n`;
  for (let at = 0; at < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`;
  return `${head}\r\n${body}`;
}
