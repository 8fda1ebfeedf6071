// --dev-clouds: stand-ins for both clouds, so that their engines can be tried without an account. They
// are the fakes of the tests, which only a checkout has, each in a process of its own that ends with
// this one. The engines are then told of them as an operator would do it, by the API.

import { join } from "node:path";
import { SECOND } from "@holdfast/shared/text/duration";
import { OwnError } from "@holdfast/shared/failure";
import { devCloudsAbsent, devCloudsFailed } from "../failures.ts";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { Secret } from "@holdfast/shared/secret";
import type { Fs, Timers } from "@holdfast/shared/world";
import * as mounts from "@holdfast/client/api/mounts";
import { Client } from "@holdfast/client/client";
import { parseServerAddress } from "@holdfast/client/server-address";
import { NodeTransport } from "@holdfast/client/node/node-transport";
import type { Helper, Host } from "../host.ts";

export interface DevClouds {
  /** Where each shows what it holds. */
  readonly states: readonly string[];
  /** For the configuration of the server. */
  readonly cloudbEndpoints: JsonObject;
  /** Requests that make the engines ready. */
  readonly setup: readonly Setup[];
  stop(): void;
}

interface Setup {
  readonly path: string;
  readonly body: JsonObject;
}

const PLACE = ["tests", "fakes"];
const READ_ANYTHING = JSON.stringify({
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Action: "s3:Get*", Resource: "*" }],
});
const PATIENCE = 30n * SECOND; // for one request of the setup

export async function startDevClouds(host: Host, fs: Pick<Fs, "info">): Promise<DevClouds> {
  const programs = ["clouda", "cloudb"].map((name) => join(host.root, ...PLACE, name, "main.ts"));
  const absent = programs.find((path) => fs.info(path) === null);
  if (absent !== undefined) {
    const message = `--dev-clouds works in a checkout of the source only: there is no ${absent}`;
    throw devCloudsAbsent(message);
  }
  const begun = await Promise.allSettled(programs.map((path) => host.startHelper(path)));
  const helpers = begun.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const stop = () => helpers.forEach((helper) => helper.stop());
  const [a, b] = helpers;
  try {
    if (a === undefined || b === undefined) throw new OwnError("a process did not start");
    return { ...describedBy(saidBy(a), saidBy(b)), stop };
  } catch {
    // What a helper says holds keys: it is not shown.
    stop();
    const message = "--dev-clouds: the stand-ins for the clouds could not be started";
    throw devCloudsFailed(message);
  }
}

function saidBy({ line }: Helper): (name: string) => string {
  const said: JsonValue = JSON.parse(line);
  const { endpoints, ...others } = isObject(said) ? said : {};
  const all: JsonObject = { ...others, ...(isObject(endpoints) ? endpoints : {}) };
  return (name) => {
    const value = all[name];
    if (typeof value !== "string") throw new OwnError(`it does not say ${name}`);
    return value;
  };
}

type Said = ReturnType<typeof saidBy>;

function describedBy(a: Said, b: Said): Omit<DevClouds, "stop"> {
  const scope = `/subscriptions/${b("subscriptionId")}`;
  return {
    states: [`${a("url")}/_fake/state`, `${b("url")}/_fake/state`],
    cloudbEndpoints: { authority: b("authority"), graph: b("graph"), arm: b("arm") },
    setup: [
      {
        path: "clouda/config/root",
        body: {
          access_key: a("accessKeyId"),
          secret_key: a("secretAccessKey"),
          iam_endpoint: a("url"),
          sts_endpoint: a("url"),
        },
      },
      { path: "clouda/config/lease", body: { lease: "30m", lease_max: "12h" } },
      {
        path: "clouda/roles/reader",
        body: { credential_type: "iam_user", policy_document: READ_ANYTHING },
      },
      {
        path: "clouda/roles/deploy",
        body: {
          credential_type: "assumed_role",
          role_arns: ["arn:aws:iam::123456789012:role/deploy"],
        },
      },
      {
        path: "cloudb/config",
        body: {
          tenant_id: b("tenantId"),
          subscription_id: b("subscriptionId"),
          client_id: b("clientId"),
          client_secret: b("clientSecret"),
        },
      },
      {
        path: "cloudb/roles/app",
        body: {
          cloudb_roles: [{ role_name: "Contributor", scope }],
          ttl: "1h",
          max_ttl: "24h",
          permanently_delete: true, // so that nothing is left to be seen
        },
      },
    ],
  };
}

export interface DevCaller {
  readonly address: string;
  /** PEM, with TLS. */
  readonly authority: string | null;
  readonly token: string;
  readonly timers: Timers;
}

/** Mounts both engines where they are not mounted, and configures them. */
export async function configureDevClouds(clouds: DevClouds, caller: DevCaller): Promise<void> {
  const { address, authority: ca, token, timers } = caller;
  const tls = { ca, certificate: null, key: null, serverName: null, skipVerify: false };
  const transport = new NodeTransport({
    address: parseServerAddress(address),
    tls,
    timeout: PATIENCE,
    timers,
  });
  const client = new Client({ transport, token: new Secret(token), namespace: "", region: "" });
  try {
    const { data } = await mounts.listMounts(client);
    for (const type of ["clouda", "cloudb"]) {
      if (!(`${type}/` in data)) await mounts.enableMount(client, { path: type, type });
    }
    for (const { path, body } of clouds.setup) await client.request("POST", path, { body });
  } finally {
    client.close();
  }
}
