// How clusters come together: the tokens that a primary makes, and what another cluster does with one. A token that cannot
// be used, a port that is not reached, a primary that refuses: none of it changes anything here.

import type { KeyObject } from "node:crypto";
import { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Secret } from "@holdfast/shared/secret";
import { type Reply, reply } from "@holdfast/shared/endpoint/reply";
import type { Caller, RequestContext } from "@holdfast/shared/endpoint/request";
import type { Fs, Nanos } from "@holdfast/shared/world";
import type { Barrier } from "../barrier/barrier.ts";
import type { Tx } from "../barrier/view.ts";
import type { PeerCalls } from "../outbound/peer-calls.ts";
import * as failures from "./failures.ts";
import { plainApiAddress, policyNameInvalid } from "./joining/failures.ts";
import { policyName } from "@holdfast/shared/text/policy-name";
import type { Activation } from "./joining/activation.ts";
import type { OpenedToken, WrappedToken } from "./joining/activation-token.ts";
import type { UnwrapRequest } from "./joining/unwrapping.ts";
import type { NextData, ReplicationOptions } from "./options.ts";
import type { Replication } from "./replication.ts";
import type { Also, Changed } from "./roles/changes.ts";
import type { Place, Tried } from "./links/join.ts";
import type { Upstream } from "./links/upstream.ts";
import { after, assertSecondary, isFenced, type Joined } from "./roles/role.ts";
import { withheldWarnings } from "./roles/warnings.ts";
import type { Cluster } from "../seal/status.ts";
import { assertCalled, clusterAddressText } from "./addresses.ts";

/** How the primary's API is reached, to unwrap a token there. */
export interface Unwrapping {
  readonly apiAddress: string;
  readonly caFile: string;
  readonly caPath: string;
  readonly caPem: string;
  readonly clientCertPem: string;
  readonly clientKeyPem?: Secret<string> | undefined;
}

/** Whom to follow from now on. */
export interface Changing extends Unwrapping {
  readonly token?: Secret<string> | undefined;
  readonly addresses: readonly string[];
  /** Also a primary of an earlier epoch than is known here. */
  readonly force: boolean;
}

export interface AdmissionOptions extends ReplicationOptions {
  readonly replication: Replication;
  /** Where the rows of this kind lie. */
  readonly rows: string;
  /** Puts other data in the place of this cluster's. */
  readonly exchange: (data: NextData) => Promise<void>;
  /** Whether the configuration of this server has an audit device. */
  readonly declaresAudit: () => boolean;
  readonly cluster: () => Cluster;
  /** Key of the auto seal that is configured here; null: operators unseal with shares. */
  readonly sealKey: () => KeyObject | null;
  /** Kept for one who unwraps it, as a JWT. */
  readonly wrap: (data: JsonObject, ttl: Nanos, context: RequestContext) => Promise<Reply>;
  /** Where a wrapped token says that it is unwrapped; empty where nobody has configured that. */
  readonly wrapAddress: string;
  /** Whether things are tried out on this machine: there other clusters are called without TLS too. */
  readonly isDev: boolean;
  /** How the API of a primary is called. */
  readonly calls: () => Promise<PeerCalls>;
  /** Files that the operator names. */
  readonly files: Pick<Fs, "read" | "list">;
  /** A ticket is not taken again; nothing happens with an operation token. */
  readonly spendTicket: (tx: Tx, caller: Caller) => void;
  /** What goes along to the new data: reports and the ends of audit chains. */
  readonly carry: (to: Barrier) => Promise<void>;
}

/** What is only tried. */
type Trial =
  | { readonly do: "join" }
  | { readonly do: "update-primary"; readonly isForced: boolean };

const NO_PORT =
  "this server has no cluster port, and cannot be promoted without one: add cluster_address to a tcp listener and restart it";

/** Whoever enables a device for all clusters does not know where else it opens. */
const AUDIT_COMES =
  "audit devices of the primary come along unless they are local to it: one that does not open on this machine takes no records here, and sys/attention names it";
const NO_AUDIT =
  "this server declares no audit device: where none of the primary's opens on this machine, requests leave no trail. Declare one in its configuration, or enable one with -local";

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #replication: Replication;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#replication = options.replication;
  }

  // --- at a primary ---

  async secondaryToken(
    {
      id,
      ttl,
      publicKey,
      attestPolicies,
      copyFilterFrom = "",
    }: {
      readonly id: string;
      readonly ttl: Nanos;
      readonly publicKey: string;
      readonly attestPolicies?: readonly string[] | undefined;
      readonly copyFilterFrom?: string;
    },
    context: RequestContext,
  ): Promise<Reply> {
    const { random, wrap, wrapAddress, isDev } = this.#options;
    const isWrapped = publicKey === "";
    // What this cluster cannot do is said before anything of ids, and before one is taken.
    const serving = await this.#replication.primary();
    const { secondaries, addresses, epoch } = serving;
    const [address] = addresses;
    if (address === undefined) throw failures.noClusterPort();
    assertCalled(address);
    secondaries.assertFree(id);
    if (isWrapped && !isDev && wrapAddress.startsWith("http://")) throw plainApiAddress();
    if (copyFilterFrom !== "") await serving.filters.copy(copyFilterFrom, id);
    const { makeToken } = await import("./joining/activation-token.ts");
    const request = {
      id,
      ttl,
      publicKey: isWrapped ? undefined : publicKey,
      attests: policiesNamed(attestPolicies),
    };
    const token = await makeToken(secondaries, request, { address, epoch }, random);
    if (token.form === "encrypted") return reply({ token: token.text });
    const wrapped = await wrap(token.wrap, token.ttl, context);
    return wrapAddress === "" ? wrapped.with({ warnings: [NO_ADDRESS] }) : wrapped;
  }

  async revoke(named: string): Promise<void> {
    const { log } = this.#options;
    if (isFenced(this.#replication.role)) throw failures.fencedRevocation();
    const serving = await this.#replication.primary();
    const unused = serving.secondaries.unused();
    for (const secondary of await serving.revoke(named)) {
      const fields = { event: "replication.secondary-revoked", secondary };
      if (unused.includes(secondary)) {
        log.info("a token for a secondary was revoked before anybody came with it", fields);
      } else log.warn("a secondary was revoked; it still holds the keys: rotate and rekey", fields);
    }
  }

  // --- at a cluster that joins ---

  async generatePublicKey(): Promise<string> {
    const { view, random } = this.#options;
    const { ActivationKey } = await import("./joining/activation-token.ts");
    return await new ActivationKey(view).generate(random);
  }

  /** Nothing is changed before `exchange` is called. */
  async enableSecondary(
    input: Unwrapping & { readonly token: Secret<string> },
    signal: AbortSignal,
  ): Promise<Changed & { readonly exchange: () => Promise<void> }> {
    const { role } = this.#replication;
    this.#assertFree();
    const activation = await this.#activation(input.token.reveal(), input, signal);
    const joined = joinedBy(activation);
    const next = after(role, { do: "join", joined }, this.#options.kind);
    const { reachPrimary } = await import("./links/join.ts");
    const { makeJoinedStore } = await import("./joining/joined-keys.ts");
    const { putUpstream } = await import("./links/upstream.ts");
    const { putRole } = await import("./roles/stored-role.ts");
    const { rows, cluster, sealKey, exchange, carry, clock, timers, random, log } = this.#options;
    const reached = await reachPrimary(activation, this.#options, { isEmpty: true });
    const { bundle, upstream, withheld = 0 } = reached;
    const data: NextData = {
      fill: async () => {}, // it begins empty
      finish: (engine) =>
        makeJoinedStore(
          engine,
          bundle,
          { cluster: cluster(), sealKey: sealKey() },
          { clock, timers, random, log },
          (tx, _raw, viewOf) => {
            const own = tx.on(viewOf(rows));
            putRole(own, next);
            putUpstream(own, upstream);
          },
          carry,
        ),
    };
    return {
      warnings: [
        "all data of before is gone, and all tokens with it; the primary's data is being copied",
        "unsealing this cluster needs the shares of the primary from now on",
        ...withheldWarnings(withheld, "joins"),
        ...this.joinWarnings,
      ],
      exchange: async () => {
        // It took its time: what this cluster is may have changed meanwhile, or just changes.
        try {
          await this.#replication.join(joined, () => exchange(data));
        } catch (error) {
          // Another one has come first.
          if (error instanceof Failure && error.code === "exchange-running") {
            throw failures.roleChanging();
          }
          throw error;
        }
      },
    };
  }

  /** All data goes: so does what this cluster is in the other kind of replication, which is not to end unsaid. */
  #assertFree(): void {
    const { mode } = this.#replication.role;
    if (mode !== "disabled") throw failures.roleTaken(mode);
    const { kind, beside } = this.#options;
    const other = beside?.().mode ?? "disabled";
    if (other !== "disabled") throw failures.roleTaken(other, kind === "dr" ? "performance" : "dr");
  }

  /** It is missed in the night in which this cluster is to take over. */
  get joinWarnings(): readonly string[] {
    const { port, kind, declaresAudit } = this.#options;
    return [
      ...(port() === null ? [NO_PORT] : []),
      ...(kind === "performance" ? [AUDIT_COMES] : []),
      ...(kind === "performance" && !declaresAudit() ? [NO_AUDIT] : []),
    ];
  }

  /** How far `enableSecondary` would come. Nothing is changed, here or at the primary, and the token is as good as before. */
  async tryJoining(
    input: Unwrapping & { readonly token: Secret<string> },
    signal: AbortSignal,
  ): Promise<readonly Tried[]> {
    try {
      this.#assertFree();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return [{ step: "role", address: "", cause: error.message }];
    }
    return [await this.#tried(input.token.reveal(), input, { do: "join" }, signal)];
  }

  // --- at a secondary ---

  /** The same for `changePrimary`: of several addresses each, until one is good. */
  async tryChange(input: Changing, signal: AbortSignal): Promise<readonly Tried[]> {
    const { addresses, token } = wayTo(input);
    if (addresses.length > 0) return await this.#triedAddresses(addresses, signal);
    if (token === "") return [{ step: "role", address: "", cause: null }];
    const step = { do: "update-primary", isForced: input.force } as const;
    return [await this.#tried(token, input, step, signal)];
  }

  async #tried(token: string, how: Unwrapping, step: Trial, signal: AbortSignal): Promise<Tried> {
    const { calls, files: fs } = this.#options;
    const { role } = this.#replication;
    const { tryPrimary } = await import("./links/join.ts");
    const { linkTo } = await import("./links/dialing.ts");
    const { apiAddressOf, lookAt } = await import("./joining/unwrapping.ts");
    let at: Pick<Tried, "step" | "address"> = { step: "token", address: "" };
    try {
      const opened = await this.#opened(token);
      if (opened.form === "wrapped") {
        const { address } = opened;
        at = { step: "api", address: apiAddressOf({ address, primaryApiAddress: how.apiAddress }) };
        const request = this.#unwrapRequest(opened, how, signal);
        await lookAt(request, { calls: await calls(), fs });
        return { ...at, cause: null }; // what comes next would use it up
      }
      const { activation } = opened;
      at = { step: "role", address: "" };
      after(role, { ...step, joined: joinedBy(activation) }, this.#options.kind);
      const { address, epoch } = activation;
      const link = () => linkTo(address, activation, this.#options);
      const isEmpty = step.do === "join";
      const standing = { epoch: epoch.number, isEmpty, member: activation, isFirst: true };
      return await tryPrimary(address, link, this.#options, standing);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return { ...at, cause: error.message };
    }
  }

  async #triedAddresses(
    addresses: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly Tried[]> {
    const { tryPrimary } = await import("./links/join.ts");
    const { linkAt } = await import("./links/dialing.ts");
    const upstream = await this.#upstream();
    const { role } = this.#replication;
    const epoch = role.mode === "secondary" ? role.epoch.number : 0;
    const all: Tried[] = [];
    for (const address of addresses) {
      const named = this.#namedPrimary(address);
      const places = await this.#placesOf(named, signal).catch((error: unknown) => {
        if (!(error instanceof Failure)) throw error;
        all.push({ step: "address", address: named, cause: error.message });
        return [];
      });
      for (const { at } of places) {
        const link = () => linkAt(at, upstream.member, this.#options);
        const standing = { epoch, isEmpty: false, member: upstream.member, isFirst: false };
        const tried = await tryPrimary(named, link, this.#options, standing);
        all.push(tried);
        if (tried.cause === null) return all;
      }
    }
    return all;
  }

  async changePrimary(
    input: Changing,
    { signal, caller }: Pick<RequestContext, "signal" | "caller">,
  ): Promise<Changed> {
    const { addresses, token } = wayTo(input);
    // A ticket makes one change; where nothing was changed it is as good as before.
    const spend: Also = (tx) => {
      if (caller !== null) this.#options.spendTicket(tx, caller);
    };
    if (addresses.length > 0) return await this.#findPrimary(addresses, spend, signal);
    if (token === "") return await this.#replication.forgetPrimary(spend);
    assertSecondary(this.#replication.role, this.#options.kind);
    const activation = await this.#activation(token, input, signal);
    const joined = joinedBy(activation);
    const { force } = input;
    const step = { do: "update-primary", joined, isForced: force } as const;
    after(this.#replication.role, step, this.#options.kind);
    const { reachPrimary } = await import("./links/join.ts");
    const reached = await reachPrimary(activation, this.#options, { isEmpty: false });
    const changed = await this.#replication.updatePrimary(joined, reached, { force, also: spend });
    const withheld = withheldWarnings(reached.withheld ?? 0, "follows");
    return { ...changed, warnings: [...changed.warnings, ...withheld] };
  }

  /** The first that proves to be the primary that is known already. Who may call this chooses where we dial: addresses where no
   *  cluster is are refused. */
  async #findPrimary(
    addresses: readonly string[],
    spend: Also,
    signal: AbortSignal,
  ): Promise<Changed> {
    const { findPrimary } = await import("./links/join.ts");
    const upstream = await this.#upstream();
    const places: Place[] = [];
    for (const address of addresses) {
      const named = this.#namedPrimary(address);
      places.push(...(await this.#placesOf(named, signal)));
    }
    const { role } = this.#replication;
    const epoch = role.mode === "secondary" ? role.epoch.number : 0;
    const { isRevoked } = await import("./joining/primary-rows.ts");
    const { view } = this.#options;
    const found = await findPrimary(places, upstream, this.#options, epoch, (cluster) =>
      isRevoked(view, cluster),
    );
    return await this.#replication.movePrimary(found, spend);
  }

  #namedPrimary(address: string): string {
    const named = clusterAddressText(address);
    if (named === null) throw failures.addressUnusable();
    const isOwn = named === clusterAddressText(this.#options.clusterAddress());
    if (isOwn) throw failures.ownAddress("update_primary_addrs");
    return named;
  }

  async #placesOf(named: string, signal: AbortSignal): Promise<readonly Place[]> {
    const { locatePrimary } = await import("./joining/unwrapping.ts");
    const calls = await this.#options.calls();
    const found = await locatePrimary(calls, "update_primary_addrs", named, signal);
    return found.map((at) => ({ named, at }));
  }

  async #upstream(): Promise<Upstream> {
    const { storedUpstream } = await import("./links/upstream.ts");
    const upstream = storedUpstream(this.#options.view, this.#options.kind);
    if (upstream === null) throw failures.primaryUnknown();
    return upstream;
  }

  async #activation(token: string, how: Unwrapping, signal: AbortSignal): Promise<Activation> {
    const { clock, calls, files: fs } = this.#options;
    const opened = await this.#opened(token);
    if (opened.form === "encrypted") return opened.activation;
    const { unwrapAt } = await import("./joining/unwrapping.ts");
    const request = this.#unwrapRequest(opened, how, signal);
    return await unwrapAt(request, { calls: await calls(), clock, fs });
  }

  async #opened(token: string): Promise<WrappedToken | OpenedToken> {
    const { kind, view, clock } = this.#options;
    const { ActivationKey, openToken } = await import("./joining/activation-token.ts");
    return openToken(token, { kind, key: new ActivationKey(view), clock });
  }

  #unwrapRequest(
    { jwt, address }: WrappedToken,
    how: Unwrapping,
    signal: AbortSignal,
  ): UnwrapRequest {
    const { apiAddress: named } = how;
    const own = this.#options.apiAddress();
    if (named !== "" && withoutSlash(named) === withoutSlash(own)) {
      throw failures.ownAddress("primary_api_addr");
    }
    return {
      jwt,
      address,
      primaryApiAddress: named,
      trust: { ...how, clientKeyPem: how.clientKeyPem?.reveal() },
      kind: this.#options.kind,
      signal,
    };
  }
}

function withoutSlash(address: string): string {
  return address.replace(/\/+$/, "").toLowerCase();
}

const NO_ADDRESS =
  "this server has no api_addr, so the token does not say where it is unwrapped: name that with primary_api_addr where it is used";

function joinedBy({ set, id, address, epoch }: Activation): Joined {
  return { set, id, address, epoch };
}

/** How the primary is named: one of the two. With addresses there is no token. */
function wayTo({ token, addresses, force }: Changing) {
  const text = token?.reveal();
  if (addresses.length > 0 && text !== undefined) throw failures.primaryNamedTwice();
  if (addresses.length === 0 && text === undefined) throw failures.primaryUnnamed();
  if (force && (text ?? "") === "") throw failures.nothingToForce();
  return { addresses, token: text ?? "" };
}

/** In the one form of their names; null: all. */
function policiesNamed(names: readonly string[] | undefined): readonly string[] | null {
  if (names === undefined) return null;
  const read = names.map((name) => policyName(name));
  if (!read.every((name) => name !== null)) throw policyNameInvalid();
  return [...new Set(read)];
}
