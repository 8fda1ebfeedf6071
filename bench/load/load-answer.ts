// The least of an HTTP/1.1 answer that a load generator must understand: its status, where it ends, and
// whether the connection goes on. Everything else is passed over, so that it costs next to nothing.

export interface Answer {
  readonly status: number;
  /** Of head and body together, in bytes. */
  readonly length: number;
  /** The server takes no further request on this connection. */
  readonly closes: boolean;
}

const MAX_HEAD = 16 * 1024;
export const END_OF_HEAD = Buffer.from("\r\n\r\n", "latin1");
const DIGIT_ZERO = 0x30;
const STATUS_AT = "HTTP/1.1 ".length;

const LENGTH = /\r\ncontent-length:[ \t]*(\d+)[ \t]*\r\n/i;
const CLOSES = /\r\nconnection:[ \t]*close[ \t]*\r\n/i;

/** Null while the head is not complete; the body may be on its way still. */
export function readAnswer(bytes: Buffer): Answer | null {
  const end = bytes.indexOf(END_OF_HEAD);
  if (end < 0) {
    if (bytes.length > MAX_HEAD) throw new Error("an answer's head does not end");
    return null;
  }
  const head = bytes.toString("latin1", 0, end + 2);
  if (!head.startsWith("HTTP/1.1 ")) throw new Error("an answer is not HTTP/1.1");
  const digit = (place: number) => (bytes[STATUS_AT + place] ?? 0) - DIGIT_ZERO;
  const status = digit(0) * 100 + digit(1) * 10 + digit(2);
  const closes = CLOSES.test(head);
  const headBytes = end + END_OF_HEAD.length;
  if (status === 204) return { status, length: headBytes, closes };
  const length = LENGTH.exec(head)?.[1];
  // Servers send the short answers that are asked for here with their length, not in chunks.
  if (length === undefined) throw new Error(`an answer (${status}) has no Content-Length`);
  return { status, length: headBytes + Number(length), closes };
}
