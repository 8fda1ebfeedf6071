// TLS as the cluster port has it, on both sides: version 1.3, certificates on P-521, HTTP/2, and no session that goes on
// in a later connection, which would step around revocation.

import { constants } from "node:crypto";
import type { SecureContextOptions } from "node:tls";
import { concat, utf8, wipe } from "@holdfast/shared/bytes";

export const PROTOCOL_NAME = "h2";

export const TLS_OPTIONS: SecureContextOptions = {
  minVersion: "TLSv1.3",
  maxVersion: "TLSv1.3",
  ciphers: "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256",
  sigalgs: "ecdsa_secp521r1_sha512",
  secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
};

/** A certificate with its key, and the authority that the other side must be of; as DER. */
export interface Credentials {
  readonly authority: Uint8Array;
  readonly certificate: Uint8Array;
  readonly key: Uint8Array;
}

/** Hands the options to `use`, and wipes its copy of the key afterwards. */
export function withCredentials<T>(
  { authority, certificate, key }: Credentials,
  use: (options: SecureContextOptions) => T,
): T {
  const pem = pemOf(key, "PRIVATE KEY");
  try {
    return use({
      ...TLS_OPTIONS,
      ca: pemOf(authority, "CERTIFICATE"),
      cert: pemOf(certificate, "CERTIFICATE"),
      key: pem,
    });
  } finally {
    wipe(pem);
  }
}

/** No line is empty: where the last one was full, OpenSSL took the whole for none. */
function pemOf(der: Uint8Array, label: string): Buffer {
  const base64 = Buffer.from(der).toString("base64");
  return concat(
    utf8(
      `-----BEGIN ${label}-----\n${base64.replace(/.{64}(?=.)/g, "$&\n")}\n-----END ${label}-----\n`,
    ),
  );
}
