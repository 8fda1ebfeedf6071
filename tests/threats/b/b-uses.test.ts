// Threats B where uses of a token are numbered: the number bounds what comes of it.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { cloudaServer } from "../../support/servers/cloud-server.ts";
import { scene } from "../scene.ts";

test("T-B14: a token with a number of uses makes no others, at neither door", async (t) => {
  const stage = await scene(t);
  const made = await stage.must("POST", "/v1/auth/token/create", { body: { num_uses: 5 } });
  const token = at(made, "auth", "client_token") as string;
  const accessor = "22222222-2222-4222-8222-222222222222";
  for (const [path, body] of [
    ["/v1/auth/token/create", {}],
    ["/v1/auth/token/create-orphan", {}],
    ["/acl/token", { Name: "more", Type: "management" }],
    [
      `/acl/token/${accessor}`,
      {
        AccessorID: accessor,
        SecretID: accessor,
        Name: "own",
        Type: "client",
        Policies: ["default"],
      },
    ],
  ] as const) {
    const answer = await stage.server.call("POST", path, { token, body });
    assert.equal(answer.status, 400, `${path}: ${answer.text}`);
    assert.match(answer.text, /a number of uses cannot make others/);
  }
});

test("the last use of a token gets no lease that would end with it", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r", {});
  const policy = 'path "clouda/creds/*" { capabilities = ["read"] }';
  const name = "reads-creds";
  await server.ask("POST", `sys/policies/acl/${name}`, { policy });
  const tokenOf = async (num_uses: number) => {
    const answer = await server.ask("POST", "auth/token/create", { policies: [name], num_uses });
    return at(answer, "auth", "client_token") as string;
  };
  const before = server.fake.control.calls().length;
  const last = await server.ask("GET", "clouda/creds/r", undefined, { token: await tokenOf(1) });
  assert.equal(last.status, 400, last.text);
  assert.match(last.text, /last use of the token/);
  assert.equal(server.fake.control.calls().length, before, "the provider was not asked");
  const two = await server.ask("GET", "clouda/creds/r", undefined, { token: await tokenOf(2) });
  assert.equal(two.status, 200, two.text);
});
