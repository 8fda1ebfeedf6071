import assert from "node:assert/strict";
import test from "node:test";
import { keyInUse, passwords, rotate } from "../../support/servers/cloudb-root.ts";
import { type CloudBServer, cloudbServer } from "../../support/servers/cloudb-server.ts";
import { done, HOUR, MINUTE, refused, SECOND } from "../../support/servers/engine-server.ts";
import { at } from "../../support/http-client.ts";

async function rotation(server: CloudBServer): Promise<unknown> {
  return at(await server.ask("GET", "cloudb/config"), "data", "root_rotation");
}

test("Q1: a rotation makes a second secret, and the old one stays in use for a minute", async (t) => {
  const server = await cloudbServer(t);
  const [old] = passwords(server);
  done(await rotate(server));
  assert.equal(passwords(server).length, 2);
  assert.equal(await rotation(server), "pending");
  await server.pass(40n * SECOND);
  assert.equal(await keyInUse(server), old);
  const read = await server.ask("GET", "cloudb/config");
  assert.ok(!read.text.includes("root_password_expiration_date"));
});

test("Q2: a secret that was proved is used, the old one removed, and reads say when it ends", async (t) => {
  const server = await cloudbServer(t);
  const [old] = passwords(server);
  await server.configure({ root_password_ttl: "10h" });
  done(await rotate(server));
  const made = server.time.clock.now();
  const [, fresh] = passwords(server);
  const before = server.fake.control.calls().length;
  await server.pass(6n * MINUTE, 20n * SECOND);
  const proofs = server.fake.control.calls().slice(before);
  assert.ok(proofs.filter(({ keyId }) => keyId === fresh).length >= 3);
  assert.deepEqual(passwords(server), [fresh]);
  assert.notEqual(fresh, old);
  assert.equal(await keyInUse(server), fresh);
  assert.equal(await rotation(server), "none");
  const read = await server.ask("GET", "cloudb/config");
  const ends = Date.parse(String(at(read, "data", "root_password_expiration_date")));
  const expected = Number((made + 10n * HOUR) / 1_000_000n);
  assert.ok(Math.abs(ends - expected) < 5000, read.text);
});

test("Q2: rotating again replaces what the first rotation made", async (t) => {
  const server = await cloudbServer(t);
  for (let i = 0; i < 2; i++) {
    const [old] = passwords(server);
    done(await rotate(server));
    await server.pass(6n * MINUTE, 20n * SECOND);
    assert.equal(passwords(server).length, 1);
    assert.ok(!passwords(server).includes(String(old)));
  }
});

test("Q2: a password of the principal is replaced by one of the application, and removed there", async (t) => {
  const server = await cloudbServer(t);
  const { directory } = server.fake.control.tenant;
  const principal = directory.principalOf(server.fake.clientId);
  assert.ok(principal !== null);
  const life = { start: 0, end: 4_000_000_000_000 };
  const { secretText } = directory.addPassword(principal, { displayName: null, ...life });
  await server.configure({ client_secret: secretText });
  const before = passwords(server);
  done(await rotate(server));
  await server.pass(6n * MINUTE, 20n * SECOND);
  assert.equal(principal.passwords.length, 0);
  assert.equal(passwords(server).length, before.length + 1);
  assert.ok(!before.includes(await keyInUse(server)));
});

test("Q3: other passwords of the application stay", async (t) => {
  const server = await cloudbServer(t);
  const { directory } = server.fake.control.tenant;
  const root = directory.applications.get(server.fake.objectId);
  assert.ok(root !== undefined);
  const [old] = passwords(server);
  const life = { start: 0, end: 4_000_000_000_000 };
  const third = directory.addPassword(root, { displayName: "of others", ...life }).keyId;
  done(await rotate(server));
  await server.pass(6n * MINUTE, 20n * SECOND);
  assert.equal(passwords(server).length, 2);
  assert.ok(passwords(server).includes(third));
  assert.ok(!passwords(server).includes(String(old)));
});

test("Q3: where it is not known which password was replaced, all stay", async (t) => {
  const server = await cloudbServer(t);
  const { directory } = server.fake.control.tenant;
  const root = directory.applications.get(server.fake.objectId);
  assert.ok(root !== undefined);
  const [first] = root.passwords;
  assert.ok(first !== undefined);
  const twin = { ...first, keyId: "twin", secretText: `${first.hint}-another` };
  root.passwords = [...root.passwords, twin];
  done(await rotate(server));
  await server.pass(6n * MINUTE, 20n * SECOND);
  assert.equal(passwords(server).length, 3);
  assert.notEqual(await keyInUse(server), first.keyId);
});

test("Q4: a secret that spreads slowly is used only when it works; nothing fails meanwhile", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  control.set({ lags: { passwordToTokens: { seconds: 300 } }, flapping: true });
  const [old] = passwords(server);
  done(await rotate(server));
  const [, fresh] = passwords(server);
  for (let minute = 0; minute < 5; minute++) {
    assert.equal(await keyInUse(server), old);
    await server.pass(50n * SECOND);
  }
  await server.pass(15n * MINUTE, 20n * SECOND);
  assert.equal(await keyInUse(server), fresh);
  assert.deepEqual(passwords(server), [fresh]);
});

test("Q4: a secret that never works is given up after a day, removed, and said to be failing", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  control.set({ lags: { passwordToTokens: { attempts: 1_000_000 } } });
  const [old] = passwords(server);
  done(await rotate(server));
  await server.pass(25n * HOUR, 5n * MINUTE);
  control.set({ lags: {} });
  await server.pass(30n * MINUTE, MINUTE);
  assert.deepEqual(passwords(server), [old]);
  assert.equal(await rotation(server), "failing");
  assert.equal(await keyInUse(server), old);
});

test("Q5: a rotation that is pending is finished by the next process", async (t) => {
  const server = await cloudbServer(t);
  const [old] = passwords(server);
  done(await rotate(server));
  await server.pass(90n * SECOND);
  await server.crash();
  await server.pass(6n * MINUTE, 20n * SECOND);
  assert.equal(passwords(server).length, 1);
  assert.notEqual(await keyInUse(server), old);
});

test("Q6: a second rotation while one is pending is a conflict, for 15 minutes", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  control.set({ lags: { passwordToTokens: { attempts: 1_000_000 } } });
  done(await rotate(server));
  refused(await rotate(server), 409, /pending/);
  assert.equal(passwords(server).length, 2);
  await server.pass(16n * MINUTE, 20n * SECOND);
  done(await rotate(server));
  await server.pass(15n * MINUTE, 20n * SECOND);
  assert.equal(passwords(server).length, 2, "what the first one made is removed");
});

test("Q7: without a stored secret there is nothing to rotate", async (t) => {
  const bare = await cloudbServer(t, { configured: false });
  refused(await rotate(bare), 400, /configur/);
  const helped = await cloudbServer(t, {
    environment: ({ clientSecret }) => ({ CLOUDB_CLIENT_SECRET: clientSecret }),
  });
  refused(await rotate(helped), 400, /environment/);
  await bare.configure({ client_secret: "", identity_token_audience: "api://them" });
  refused(await rotate(bare), 400, /client_secret/);
  const { applications } = bare.fake.control.state();
  assert.equal(applications[0]?.passwords.length, 1);
});

test("Q7: an application that is not there cannot be rotated", async (t) => {
  const server = await cloudbServer(t);
  const effect = { kind: "refuse", status: 403, code: "Authorization_RequestDenied" } as const;
  server.fake.control.fault({ action: "listApplications", effect });
  refused(await rotate(server), 400, /Authorization_RequestDenied/);
  assert.equal(passwords(server).length, 1);
});

test("Q8: a crash after the password was made leaves the old one alone", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const [old] = passwords(server);
  const effect = { kind: "hold", when: "after" } as const;
  control.fault({ action: "addApplicationPassword", effect });
  const answering = server.ask("POST", "cloudb/rotate-root").catch(() => null);
  await control.held();
  assert.equal(passwords(server).length, 2);
  await server.crash();
  await answering;
  await server.pass(12n * MINUTE, 30n * SECOND);
  assert.deepEqual(passwords(server), [old]);
  assert.equal(await keyInUse(server), old);
  done(await rotate(server));
});

test("an old password that cannot be removed yet is removed later", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const effect = { kind: "unavailable" } as const;
  control.fault({ action: "removeApplicationPassword", effect, times: 3 });
  done(await rotate(server));
  await server.pass(HOUR, MINUTE);
  assert.equal(passwords(server).length, 1);
});

test("T-I09: a rotation answers without a secret, and reads of the configuration show none", async (t) => {
  const server = await cloudbServer(t);
  const answer = await rotate(server);
  assert.equal(answer.text, "");
  const reads = [await server.ask("GET", "cloudb/config")];
  await server.pass(6n * MINUTE, 20n * SECOND);
  reads.push(await server.ask("GET", "cloudb/config"));
  for (const secret of server.fake.control.secrets()) {
    for (const { text } of reads) assert.ok(!text.includes(secret));
    for (const line of server.test.lines) assert.ok(!line.includes(secret));
  }
});
