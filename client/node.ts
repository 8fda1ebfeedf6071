// @holdfast/client/node: the same client on Node's sockets, for what `fetch` cannot do: Unix sockets, and
// certificates of one's own. Where nothing is said it takes what the command line takes: HOLDFAST_ADDR and
// its like, and the token that `holdfast login` left.

import process from "node:process";
import { Failure } from "@holdfast/shared/failure";
import { Secret } from "@holdfast/shared/secret";
import { Client, nanosOf } from "./client.ts";
import { checkOptions } from "./options.ts";
import { ClientEnvironment, type Environment } from "./node/environment.ts";
import { ownFiles, pemFile, realTimers } from "./node/machine.ts";
import { NodeTransport, type TlsChoice } from "./node/node-transport.ts";
import { readTokenFile, tokenFilePath } from "./node/token-file.ts";
import { addressesOf, mayBeSent } from "./node/token-address.ts";
import type { ConnectOptions } from "./sdk.ts";
import { parseServerAddress, type ServerAddress } from "./server-address.ts";

export * from "./sdk.ts";
export { NodeTransport } from "./node/node-transport.ts";
export type { TlsChoice } from "./node/node-transport.ts";

export interface NodeConnectOptions extends Partial<Omit<ConnectOptions, "fetch">> {
  /** Certificates and names, over those of the environment. PEM texts. */
  readonly tls?: Partial<TlsChoice>;
  /** Default: that of the process. */
  readonly env?: Environment;
}

const OPTIONS = ["address", "token", "namespace", "timeout", "warn", "tls", "env"];
const TLS_OPTIONS = ["ca", "certificate", "key", "serverName", "skipVerify"];

export function connect(options: NodeConnectOptions = {}): Client {
  checkOptions(options, OPTIONS);
  checkOptions(options.tls ?? {}, TLS_OPTIONS);
  const env = options.env ?? process.env;
  const environment = new ClientEnvironment(env);
  environment.check();
  const { value: typed, from } =
    options.address === undefined
      ? environment.address
      : { value: options.address, from: "options" };
  const address = parseServerAddress(typed);
  const { token, namespace, timeout, warn } = options;
  return new Client({
    transport: new NodeTransport({
      address,
      tls: tlsChoice(environment, options.tls ?? {}),
      timeout: timeout === undefined ? environment.timeout : nanosOf("timeout", timeout),
      timers: realTimers,
    }),
    token:
      typeof token === "string"
        ? new Secret(token)
        : (token ?? tokenOf(env, environment, address, from)),
    namespace: namespace ?? environment.namespace?.value ?? "",
    region: environment.text("REGION")?.value ?? "",
    ...(warn === undefined ? {} : { warn }),
  });
}

/** That of the environment, else that of the token file, where it is for this server. */
function tokenOf(
  env: Environment,
  environment: ClientEnvironment,
  address: ServerAddress,
  from: string,
): Secret<string> | null {
  if (environment.token !== null) return environment.token.value;
  const file = tokenFilePath(env);
  const token = readTokenFile(ownFiles, file);
  if (token === null) return null;
  return mayBeSent(addressesOf(ownFiles, file, token), address, from) ? token : null;
}

function tlsChoice(environment: ClientEnvironment, chosen: Partial<TlsChoice>): TlsChoice {
  const file = (name: "CACERT" | "CLIENT_CERT" | "CLIENT_KEY") => {
    const path = environment.text(name)?.value;
    return path === undefined ? null : pemFile(path);
  };
  if (environment.text("CAPATH") !== null && chosen.ca === undefined) {
    const message = "a directory of authorities is not read here: set HOLDFAST_CACERT, or tls.ca";
    throw new Failure("invalid", "environment-invalid", message);
  }
  return {
    ca: chosen.ca ?? file("CACERT") ?? environment.text("CACERT_BYTES")?.value ?? null,
    certificate: chosen.certificate ?? file("CLIENT_CERT"),
    key: chosen.key ?? file("CLIENT_KEY"),
    serverName: chosen.serverName ?? environment.text("TLS_SERVER_NAME")?.value ?? null,
    skipVerify: chosen.skipVerify ?? environment.skipVerify,
  };
}
