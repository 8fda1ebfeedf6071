// Certificate and key of a listener, read from their files: at the start and again when they were
// renewed. What cannot be used is refused as a whole, by the name of its file.

import { constants } from "node:crypto";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { wipe } from "@holdfast/shared/bytes";
import type { Failure } from "@holdfast/shared/failure";
import { tlsFileInvalid, tlsFileMissing } from "./failures.ts";
import type { Fs } from "@holdfast/shared/world";
import type { TlsSettings } from "./listener-settings.ts";

const MAX_FILE = 1024 * 1024;

// Forward secrecy and authenticated encryption only; the first three are TLS 1.3.
const CIPHERS = [
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "TLS_AES_128_GCM_SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
].join(":");

/** Hands the options for a context to `use`, and wipes the key afterwards. */
export function withTls(fs: Fs, tls: TlsSettings, use: (options: SecureContextOptions) => void) {
  const key = readFile(fs, tls.keyFile);
  try {
    const cert = readFile(fs, tls.certFile);
    const { clientCaFile = null } = tls;
    const ca = clientCaFile === null ? {} : { ca: readFile(fs, clientCaFile) };
    const options: SecureContextOptions = {
      key,
      cert,
      ...ca,
      minVersion: tls.minVersion === "tls13" ? "TLSv1.3" : "TLSv1.2",
      ciphers: CIPHERS,
      honorCipherOrder: true,
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_NO_COMPRESSION,
    };
    try {
      createSecureContext(options); // a listener must not be left half changed
    } catch (error) {
      throw unusable(tls, error);
    }
    use(options);
  } finally {
    wipe(key);
  }
}

function readFile(fs: Fs, path: string): Buffer {
  const bytes = fs.read(path, MAX_FILE);
  if (bytes === null) throw tlsFileMissing(`${path} does not exist`);
  return bytes;
}

/** OpenSSL's own words are for experts and change with it; its code is enough to tell the cases. */
function unusable({ certFile, keyFile }: TlsSettings, error: unknown): Failure {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
  const message =
    code === "ERR_OSSL_X509_KEY_VALUES_MISMATCH"
      ? `the key in ${keyFile} does not belong to the certificate in ${certFile}`
      : `${certFile} and ${keyFile} must be a certificate and its key in PEM form (${code})`;
  return tlsFileInvalid(message);
}
