// Text as UTF-8 in memory of its own, which can be wiped: bodies and files here hold secrets, and Node's
// shared pool would keep them.

import { alloc } from "@holdfast/shared/bytes";

export function ownBytes(text: string): Buffer {
  const bytes = alloc(Buffer.byteLength(text, "utf8"));
  bytes.write(text, "utf8");
  return bytes;
}
