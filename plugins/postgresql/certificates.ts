// Certificates in a file that whoever configures a connection names. Whatever lies there, nothing else of it is used, and nobody
// waits for it.

import { X509Certificate } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

const MAX_BYTES = 1024 * 1024;
const SAFE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK; // a pipe would never open
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** In PEM; null: it is no file, or holds none. */
export function readCertificates(path: string): string | null {
  const text = readSmall(path);
  // An environment may have one too, and is no file of them.
  const found = text === null || text.includes("\0") ? [] : (text.match(CERTIFICATE) ?? []);
  return found.length > 0 && found.every(isCertificate) ? found.join("\n") : null;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

function readSmall(path: string): string | null {
  let file: number | null = null;
  try {
    file = openSync(path, SAFE);
    if (!fstatSync(file).isFile()) return null;
    const bytes = Buffer.alloc(MAX_BYTES + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length <= MAX_BYTES; length += read) {
      read = readSync(file, bytes, length, bytes.length - length, null);
    }
    return length > MAX_BYTES ? null : bytes.toString("utf8", 0, length);
  } catch {
    return null;
  } finally {
    if (file !== null) closeSync(file);
  }
}
