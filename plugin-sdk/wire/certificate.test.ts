import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import type { AddressInfo } from "node:net";
import test from "node:test";
import { connect, createServer, type TLSSocket } from "node:tls";
import { fakeWorld } from "../../tests/support/fake-world.ts";
import { makeCertificate, readCertificatePem } from "./certificate.ts";

const clock = { now: () => BigInt(Date.now()) * 1_000_000n };
const { random } = fakeWorld();

test("it is an authority of its own for localhost, for 30 years, of both sides", () => {
  const { certificate, certificatePem } = makeCertificate({ clock, random });
  const read = new X509Certificate(certificate);
  assert.equal(read.subject, "CN=localhost");
  assert.equal(read.issuer, "CN=localhost");
  assert.equal(read.subjectAltName, "DNS:localhost");
  assert.ok(read.ca && read.checkIssued(read));
  assert.deepEqual(read.keyUsage, ["1.3.6.1.5.5.7.3.2", "1.3.6.1.5.5.7.3.1"]);
  const [from, to] = [Date.parse(read.validFrom), Date.parse(read.validTo)];
  assert.ok(Date.now() - from >= 30_000 && Date.now() - from < 60_000);
  assert.ok(Math.abs(to - Date.now() - 30 * 365 * 86_400_000) < 60_000);
  assert.equal(read.publicKey.asymmetricKeyDetails?.namedCurve, "prime256v1");
  assert.equal(readCertificatePem(certificatePem)?.fingerprint256, read.fingerprint256);
  assert.equal(readCertificatePem("nonsense"), null);
  const other = makeCertificate({ clock, random });
  assert.notEqual(new X509Certificate(other.certificate).serialNumber, read.serialNumber);
});

test("its dates have two digits of a year until 2049 and four from then on", () => {
  const at = (iso: string) => ({ now: () => BigInt(Date.parse(iso)) * 1_000_000n });
  for (const [iso, ends] of [
    ["2018-06-01T00:00:00Z", "2048"],
    ["2049-12-31T23:59:59Z", "2079"],
  ] as const) {
    const read = new X509Certificate(makeCertificate({ clock: at(iso), random }).certificate);
    assert.equal(Date.parse(iso) - Date.parse(read.validFrom), 30_000);
    assert.match(read.validTo, new RegExp(ends));
  }
});

test("two sides that trust each other's alone speak TLS, and nobody else does", async () => {
  const [host, plugin, stranger] = [1, 2, 3].map(() => makeCertificate({ clock, random })) as [
    ReturnType<typeof makeCertificate>,
    ReturnType<typeof makeCertificate>,
    ReturnType<typeof makeCertificate>,
  ];
  const server = createServer({
    cert: plugin.certificatePem,
    key: plugin.keyPem,
    ca: host.certificatePem,
    requestCert: true,
    rejectUnauthorized: true,
  });
  const accepted: TLSSocket[] = [];
  server.on("secureConnection", (socket) => {
    socket.on("error", () => {});
    accepted.push(socket);
    socket.end("hello");
  });
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const said = (own: typeof host, ca: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({
        port,
        host: "127.0.0.1",
        servername: "localhost",
        cert: own.certificatePem,
        key: own.keyPem,
        ca,
      });
      socket.on("error", reject);
      socket.on("data", (data) => resolve(String(data)));
      socket.on("close", () => reject(new Error("closed")));
    });
  try {
    assert.equal(await said(host, plugin.certificatePem), "hello");
    assert.equal(accepted.length, 1);
    await assert.rejects(said(stranger, plugin.certificatePem));
    await assert.rejects(said(host, stranger.certificatePem));
    assert.equal(accepted.filter((socket) => socket.authorized).length, accepted.length);
  } finally {
    server.close();
  }
});
