// Certificates for tests: an authority of one's own, and what it has signed. Made on the spot, so that none
// expires in a drawer.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
type KeyPair = Awaited<ReturnType<typeof makeKeys>>;
const DAY_MS = 86_400_000;

export interface IssueOptions {
  /** Default: localhost and 127.0.0.1. */
  readonly names?: readonly { readonly type: "dns" | "ip"; readonly value: string }[];
  /** In days from now. Default: yesterday to tomorrow. */
  readonly from?: number;
  readonly to?: number;
  /** What it may be used for, by object id. Default: not said. */
  readonly usages?: readonly string[];
}

export interface Pem {
  readonly cert: string;
  readonly key: string;
}

export class TestAuthority {
  readonly #name: string;
  readonly #keys: KeyPair;
  /** The authority's own certificate. */
  readonly pem: string;

  private constructor(name: string, keys: KeyPair, pem: string) {
    this.#name = name;
    this.#keys = keys;
    this.pem = pem;
  }

  static async make(name = "CN=Test Authority"): Promise<TestAuthority> {
    const {
      BasicConstraintsExtension,
      KeyUsageFlags,
      KeyUsagesExtension,
      X509CertificateGenerator,
    } = await loadX509();
    const keys = await makeKeys();
    const certificate = await X509CertificateGenerator.createSelfSigned({
      serialNumber: "01",
      name,
      notBefore: new Date(Date.now() - DAY_MS),
      notAfter: new Date(Date.now() + DAY_MS),
      signingAlgorithm: ALGORITHM,
      keys,
      extensions: [
        new BasicConstraintsExtension(true, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      ],
    });
    return new TestAuthority(name, keys, certificate.toString("pem"));
  }

  /** For a server at 127.0.0.1 and localhost, or for a client. */
  async issue(
    commonName: string,
    serialNumber = "02",
    { names, from = -1, to = 1, usages = [] }: IssueOptions = {},
  ): Promise<Pem> {
    const {
      AuthorityKeyIdentifierExtension,
      BasicConstraintsExtension,
      ExtendedKeyUsageExtension,
      KeyUsageFlags,
      KeyUsagesExtension,
      SubjectAlternativeNameExtension,
      X509CertificateGenerator,
    } = await loadX509();
    const keys = await makeKeys();
    const certificate = await X509CertificateGenerator.create({
      serialNumber,
      subject: `CN=${commonName}`,
      issuer: this.#name,
      notBefore: new Date(Date.now() + from * DAY_MS),
      notAfter: new Date(Date.now() + to * DAY_MS),
      signingAlgorithm: ALGORITHM,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        ...(usages.length === 0 ? [] : [new ExtendedKeyUsageExtension([...usages])]),
        new SubjectAlternativeNameExtension([
          ...(names ?? [
            { type: "dns", value: "localhost" },
            { type: "ip", value: "127.0.0.1" },
          ]),
        ]),
        await AuthorityKeyIdentifierExtension.create(this.#keys.publicKey),
      ],
    });
    const bytes = Buffer.from(await crypto.subtle.exportKey("pkcs8", keys.privateKey));
    const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
    const key = `-----BEGIN PRIVATE KEY-----\n${lines.join("\n")}\n-----END PRIVATE KEY-----\n`;
    return { cert: certificate.toString("pem"), key };
  }
}

/** Files for a listener, in a directory of their own. */
export class CertificateFiles {
  readonly directory = mkdtempSync(join(tmpdir(), "holdfast-certificates-"));
  readonly certFile = join(this.directory, "server.crt");
  readonly keyFile = join(this.directory, "server.key");
  readonly clientCaFile = join(this.directory, "clients.crt");

  write({ cert, key }: Pem): void {
    writeFileSync(this.certFile, cert);
    writeFileSync(this.keyFile, key, { mode: 0o600 });
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function makeKeys() {
  return crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

/**
 * The package wants the metadata functions of a proposal for decorators, which no runtime has; all it
 * does with them here is to keep and look up.
 */
function loadX509() {
  if (!("getMetadata" in Reflect)) {
    const kept = new WeakMap<object, Map<unknown, unknown>>();
    const find = (key: unknown, target: object) => kept.get(target)?.get(key);
    Object.assign(Reflect, {
      getMetadata: find,
      getOwnMetadata: find,
      defineMetadata: (key: unknown, value: unknown, target: object) => {
        kept.set(target, (kept.get(target) ?? new Map<unknown, unknown>()).set(key, value));
      },
    });
  }
  return import("@peculiar/x509");
}
