// A certificate for --dev-tls, from an authority made for the occasion. The authority's key is
// forgotten as soon as it has signed: nobody can make a second certificate of it.

import type { Instant } from "@holdfast/shared/world";
import { loadX509 } from "../../base/x509.ts";

export interface DevCertificate {
  readonly authority: string; // PEM
  readonly certificate: string; // PEM
  readonly key: string; // PEM, PKCS #8
}

const KEY = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAYS = 30n;
const DAY_MS = 86_400_000n;
const HOUR_MS = 3_600_000n;

/** Good for `hosts` (names and addresses) for 30 days. */
export async function makeDevCertificate(
  hosts: readonly { readonly type: "dns" | "ip"; readonly value: string }[],
  now: Instant,
): Promise<DevCertificate> {
  const x509 = await loadX509();
  const { subtle } = crypto;
  const make = () => subtle.generateKey(KEY, true, ["sign", "verify"]);
  const [authorityKeys, keys] = await Promise.all([make(), make()]);
  const millis = now / 1_000_000n;
  const validity = {
    notBefore: new Date(Number(millis - HOUR_MS)), // clocks in containers are not always right
    notAfter: new Date(Number(millis + DAYS * DAY_MS)),
  };
  const issuer = "CN=Holdfast development authority";
  const { KeyUsageFlags, KeyUsagesExtension, BasicConstraintsExtension } = x509;
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    name: issuer,
    keys: authorityKeys,
    signingAlgorithm: KEY,
    ...validity,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(authorityKeys.publicKey),
    ],
  });
  const certificate = await x509.X509CertificateGenerator.create({
    subject: "CN=Holdfast development server",
    issuer,
    publicKey: keys.publicKey,
    signingKey: authorityKeys.privateKey,
    signingAlgorithm: KEY,
    ...validity,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([...hosts]),
      await x509.AuthorityKeyIdentifierExtension.create(authorityKeys.publicKey),
    ],
  });
  const der = Buffer.from(await subtle.exportKey("pkcs8", keys.privateKey));
  return {
    authority: authority.toString("pem"),
    certificate: certificate.toString("pem"),
    key: x509.PemConverter.encode(der, "PRIVATE KEY"),
  };
}
