import assert from "node:assert/strict";
import test from "node:test";
import { anyEngine, type EngineType } from "@holdfast/plugin-sdk/engine";
import type { Outbound } from "@holdfast/plugin-sdk/outbound";
import type { CloudB } from "../../../engines/cloudb/engine.ts";
import { cloudbType } from "@holdfast/engines/cloudb/cloudb";
import type { FakeCloudB } from "../../fakes/cloudb/fake.ts";
import type { Surface } from "../../fakes/cloudb/model.ts";
import { type CloudBServer, cloudbServer } from "../../support/servers/cloudb-server.ts";
import { done, refused } from "../../support/servers/engine-server.ts";
import { at } from "../../support/http-client.ts";

const NOTHING = {
  subscription_id: "",
  tenant_id: "",
  client_id: "",
  environment: "",
  root_password_ttl: 15_724_800,
  identity_token_audience: "",
  identity_token_ttl: 3600,
};

type Bases = Readonly<Record<Surface, string>>;

const CHINA: Bases = {
  authority: "https://login.chinacloudapi.cn",
  graph: "https://microsoftgraph.chinacloudapi.cn",
  arm: "https://management.chinacloudapi.cn",
};
const US_GOVERNMENT: Bases = {
  authority: "https://login.microsoftonline.us",
  graph: "https://graph.microsoft.us",
  arm: "https://management.usgovcloudapi.net",
};
const PUBLIC: Bases = {
  authority: "https://login.microsoftonline.com",
  graph: "https://graph.microsoft.com",
  arm: "https://management.azure.com",
};

/** The engine as it is, but for roads: those to the provider's clouds lead to the fake. */
function onOtherRoads(fake: () => FakeCloudB, hosts: string[]): EngineType<CloudB> {
  const rerouted = (outbound: Outbound): Outbound => ({
    endpoint: (field, text, rules) => outbound.endpoint(field, text, rules),
    send: (request) => {
      const { origin } = request.url;
      hosts.push(origin);
      const { endpoints } = fake();
      for (const bases of [CHINA, US_GOVERNMENT, PUBLIC]) {
        for (const surface of ["authority", "graph", "arm"] as const) {
          if (bases[surface] !== origin) continue;
          const { pathname, search } = request.url;
          const url = new URL(`${endpoints[surface]}${pathname}${search}`);
          return outbound.send({ ...request, url, plain: true });
        }
      }
      throw new Error(`no such host: ${origin}`);
    },
  });
  return {
    ...cloudbType,
    type: "cloudb-elsewhere",
    open: (needs) => {
      return cloudbType.open({ ...needs, outbound: rerouted(needs.outbound) });
    },
  };
}

async function elsewhere(t: Parameters<typeof cloudbServer>[0], bases: Bases) {
  const hosts: string[] = [];
  const holder: { server?: CloudBServer } = {};
  const fake = () => {
    assert.ok(holder.server !== undefined);
    return holder.server.fake;
  };
  const engineTypes = [anyEngine(onOtherRoads(fake, hosts))];
  const server = await cloudbServer(t, { engineTypes, configured: false });
  holder.server = server;
  server.fake.control.set({ knownAs: bases });
  await server.enable("far", "cloudb-elsewhere");
  return { server, hosts };
}

test("B1: a configuration is read without its secret, with defaults filled in", async (t) => {
  const server = await cloudbServer(t, { configured: false });
  const { tenantId, subscriptionId, clientId, clientSecret } = server.fake;
  done(await server.ask("POST", "cloudb/config", server.config()));
  const read = await server.ask("GET", "cloudb/config");
  assert.equal(read.status, 200);
  const expected = { ...NOTHING, tenant_id: tenantId, subscription_id: subscriptionId };
  const data = at(read, "data") as Record<string, unknown>;
  for (const [name, value] of Object.entries({ ...expected, client_id: clientId })) {
    assert.deepEqual(data[name], value, name);
  }
  assert.equal(data["root_rotation"], "none");
  assert.deepEqual(data["environment_overrides"], []);
  assert.ok(!("root_password_expiration_date" in data));
  assert.ok(!read.text.includes(clientSecret) && !read.text.includes("client_secret"));
});

test("B1: a later write changes what it names, and an empty value clears", async (t) => {
  const server = await cloudbServer(t);
  done(await server.ask("POST", "cloudb/config", { root_password_ttl: "1h30m" }));
  const read = await server.ask("GET", "cloudb/config");
  assert.equal(at(read, "data", "root_password_ttl"), 5400);
  assert.equal(at(read, "data", "client_id"), server.fake.clientId);
  await server.makeRole("still-works");
  done(await server.ask("POST", "cloudb/config", { root_password_ttl: 0, client_id: "" }));
  const cleared = await server.ask("GET", "cloudb/config");
  assert.equal(at(cleared, "data", "root_password_ttl"), 15_724_800);
  assert.equal(at(cleared, "data", "client_id"), "");
});

test("B2: tenant and subscription are required, from the request or the environment", async (t) => {
  const bare = await cloudbServer(t, { configured: false });
  const { tenant_id: _, ...without } = { ...bare.config(), tenant_id: "" };
  refused(await bare.ask("POST", "cloudb/config", without), 400, "tenant_id is required");
  const subscription = bare.config({ subscription_id: "" });
  refused(
    await bare.ask("POST", "cloudb/config", subscription),
    400,
    "subscription_id is required",
  );
  const helped = await cloudbServer(t, {
    configured: false,
    environment: ({ tenantId }) => ({ CLOUDB_TENANT_ID: tenantId }),
  });
  done(await helped.ask("POST", "cloudb/config", helped.config({ tenant_id: "" })));
  await helped.makeRole("works");
});

test("B3: a secret and an audience exclude each other; one write can go from the one to the other", async (t) => {
  const server = await cloudbServer(t);
  const audience = { identity_token_audience: "api://them" };
  const text = "client_secret and identity_token_audience exclude each other";
  refused(await server.ask("POST", "cloudb/config", audience), 400, text);
  refused(await server.ask("POST", "cloudb/config", server.config(audience)), 400, text);
  done(await server.ask("POST", "cloudb/config", { ...audience, client_secret: "" }));
  const read = await server.ask("GET", "cloudb/config");
  assert.equal(at(read, "data", "identity_token_audience"), "api://them");
});

test("B4: a variable of the environment beats what is stored, and reads say so", async (t) => {
  const server = await cloudbServer(t, {
    configured: false,
    environment: ({ clientId }) => ({ CLOUDB_CLIENT_ID: clientId }),
  });
  await server.configure({ client_id: "somebody-else" });
  await server.makeRole("r");
  const calls = server.fake.control.calls();
  assert.ok(calls.length > 1);
  assert.ok(calls.every(({ clientId }) => clientId === server.fake.clientId));
  const read = await server.ask("GET", "cloudb/config");
  assert.equal(at(read, "data", "client_id"), "somebody-else");
  assert.deepEqual(at(read, "data", "environment_overrides"), ["client_id"]);
});

test("B5: each environment has hosts of its own, whatever the case of its name; others are refused", async (t) => {
  for (const [bases, names] of [
    [PUBLIC, ["", "CloudBPublicCloud", "AzurePublicCloud"]],
    [US_GOVERNMENT, ["CloudBUSGovernmentCloud", "azureusgovernmentcloud"]],
    [CHINA, ["cloudbCHINAcloud", "AzureChinaCloud"]],
  ] as const) {
    const { server, hosts } = await elsewhere(t, bases);
    const group = server.fake.control.makeGroup("people");
    for (const [i, environment] of names.entries()) {
      hosts.length = 0;
      await server.configure({ environment }, "far");
      const body = {
        cloudb_roles: JSON.stringify([{ role_name: "Reader", scope: server.scope }]),
        cloudb_groups: JSON.stringify([{ object_id: group }]),
      };
      const answer = await server.timed(server.ask("POST", `far/roles/r${i}`, body));
      done(answer);
      assert.deepEqual(new Set(hosts), new Set(Object.values(bases)));
      const read = await server.ask("GET", "far/config");
      assert.equal(at(read, "data", "environment"), environment);
    }
  }
  const { server } = await elsewhere(t, PUBLIC);
  const answer = await server.ask("POST", "far/config", server.config({ environment: "Germany" }));
  assert.equal(answer.status, 400);
  assert.match(answer.text, /unknown environment/);
});

test("B40: a member of a group of another cloud is named by that cloud's Graph", async (t) => {
  const { server } = await elsewhere(t, CHINA);
  const group = server.fake.control.makeGroup("people");
  await server.configure({ environment: "CloudBChinaCloud" }, "far");
  const body = {
    cloudb_roles: JSON.stringify([{ role_name: "Reader", scope: server.scope }]),
    cloudb_groups: JSON.stringify([{ group_name: "people" }]),
  };
  done(await server.timed(server.ask("POST", "far/roles/r", body)));
  const issued = await server.timed(server.ask("GET", "far/creds/r"));
  assert.equal(issued.status, 200, issued.text);
  const [added, ...more] = server.fake.control
    .calls()
    .filter(({ action }) => action === "addGroupMember");
  assert.equal(more.length, 0);
  const [member] = server.fake.control.state().groups.find(({ id }) => id === group)?.members ?? [];
  const reference = `${CHINA.graph}/v1.0/directoryObjects/${member}`;
  assert.deepEqual(added?.params, { "@odata.id": reference });
});

test("B6: without a configuration a read gives empty values, and a second DELETE is no error", async (t) => {
  const server = await cloudbServer(t);
  done(await server.ask("DELETE", "cloudb/config"));
  done(await server.ask("DELETE", "cloudb/config"));
  const read = await server.ask("GET", "cloudb/config");
  assert.equal(read.status, 200);
  const data = at(read, "data") as Record<string, unknown>;
  for (const [name, value] of Object.entries(NOTHING)) assert.deepEqual(data[name], value, name);
  refused(await server.writeRole("r"), 400, "engine is not configured");
});

test("B6: deleting a configuration that leases still need says so", async (t) => {
  const server = await cloudbServer(t);
  await server.makeRole("r");
  await server.creds("r");
  const answer = await server.ask("DELETE", "cloudb/config");
  assert.equal(answer.status, 200, answer.text);
  assert.match(String(at(answer, "warnings", 0)), /1 /);
});

test("a write of another configuration is what the next call uses", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  await server.makeRole("one");
  const other = control.makeApplication("other", 1);
  control.permit(other.appId, [...(control.tenant.permissions.get(server.fake.clientId) ?? [])]);
  const secret = other.passwords[0]?.secretText;
  done(
    await server.ask("POST", "cloudb/config", { client_id: other.appId, client_secret: secret }),
  );
  control.clearCalls();
  await server.makeRole("two");
  assert.ok(control.calls().every(({ clientId }) => clientId === other.appId));
});

test("unknown fields are reported, and wrong types are refused by name", async (t) => {
  const server = await cloudbServer(t, { configured: false });
  const odd = await server.ask("POST", "cloudb/config", server.config({ colour: "red" }));
  assert.equal(odd.status, 200, odd.text);
  assert.match(String(at(odd, "warnings", 0)), /colour/);
  const wrong = await server.ask(
    "POST",
    "cloudb/config",
    server.config({ identity_token_ttl: "x" }),
  );
  assert.equal(wrong.status, 400);
  assert.match(String(at(wrong, "errors", 0)), /^identity_token_ttl/);
});

test("T-I17: a configuration never shows its secret, also not in what it refuses", async (t) => {
  const server = await cloudbServer(t);
  const secret = server.fake.clientSecret;
  const audience = server.config({ identity_token_audience: "x" });
  const answers = [
    await server.ask("POST", "cloudb/config", audience),
    await server.ask("POST", "cloudb/config", server.config({ environment: "nowhere" })),
    await server.ask("GET", "cloudb/config"),
    await server.ask("GET", "cloudb/config?list=true"),
  ];
  for (const { text } of answers) assert.ok(!text.includes(secret));
});

test("T-I06: what the provider repeats of our secrets reaches neither the caller nor the log", async (t) => {
  const server = await cloudbServer(t);
  const { control, clientSecret } = server.fake;
  for (const action of ["token", "listRoleDefinitions"]) {
    control.fault({ action, effect: { kind: "echo", status: 400 } });
    const answer = await server.writeRole("r");
    assert.equal(answer.status, 400, answer.text);
    for (const text of [answer.text, ...server.test.lines]) {
      assert.ok(!text.includes(clientSecret) && !text.includes(encodeURIComponent(clientSecret)));
      assert.ok(!/eyJ0eXAi\.[\w-]+/.test(text), "an access token");
    }
  }
});

test("a mount without a secret or an audience uses the machine's own identity", async (t) => {
  const server = await cloudbServer(t, {
    configured: false,
    environment: ({ identityEndpoint, identityHeader }) => {
      return { IDENTITY_ENDPOINT: identityEndpoint, IDENTITY_HEADER: identityHeader };
    },
  });
  await server.configure({ client_secret: "", client_id: "" });
  await server.makeRole("one");
  await server.makeRole("two");
  const actions = server.fake.control.actions();
  assert.equal(actions.filter((action) => action === "machineToken").length, 1);
  assert.ok(!actions.includes("token"));
});

test("a write drops what is kept of the provider, also where it changes nothing", async (t) => {
  const server = await cloudbServer(t, {
    environment: ({ tenantId, subscriptionId, clientId, clientSecret }) => ({
      CLOUDB_TENANT_ID: tenantId,
      CLOUDB_SUBSCRIPTION_ID: subscriptionId,
      CLOUDB_CLIENT_ID: clientId,
      CLOUDB_CLIENT_SECRET: clientSecret,
    }),
  });
  const { control } = server.fake;
  const tokens = async () => {
    control.clearCalls();
    await server.makeRole("r");
    return control.actions().filter((action) => action === "token").length;
  };
  assert.ok((await tokens()) > 0);
  assert.equal(await tokens(), 0);
  await server.configure();
  assert.ok((await tokens()) > 0, "after a write");
  assert.ok((await server.ask("DELETE", "cloudb/config")).status < 300);
  assert.ok((await tokens()) > 0, "after a deletion");
});
