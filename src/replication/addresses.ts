// Addresses of cluster ports as people write them: https://host:port, or host:port alone.

import { readAddress } from "@holdfast/shared/text/addresses";
import type { Address } from "@holdfast/shared/world";
import { placeOf } from "../outbound/address-kinds.ts";
import { ClusterAddresses } from "../outbound/allowed-addresses.ts";
import { addressUncalled, addressUnusable, portUncalled } from "./failures.ts";

const FORM =
  /^(?:https:\/\/)?(?:\[(?<v6>[0-9A-Fa-f:.]{2,45})\]|(?<name>[A-Za-z0-9._-]{1,253})):(?<port>[1-9]\d{0,4})\/?$/;
const MAX_PORT = 65_535;

// Who looks names up takes 2130706433, 0x7f.1 and 127.0.0.1. for addresses: those that refuse some of them read it in its one form.
const ENDS_IN_NUMBER = /(?:^|\.)(?:\d+|0x[\da-f]*)\.?$/i;

/** Null for what is none. */
export function parseClusterAddress(text: string): Address | null {
  const { v6, name, port = "" } = FORM.exec(text)?.groups ?? {};
  if (name !== undefined && ENDS_IN_NUMBER.test(name) && readAddress(name) === null) return null;
  const host = v6 ?? name;
  return host === undefined || Number(port) > MAX_PORT ? null : { host, port: Number(port) };
}

/** In its one form: https://host:port. Null for what is none. */
export function clusterAddressText(text: string): string | null {
  const at = parseClusterAddress(text);
  if (at === null) return null;
  return `https://${at.host.includes(":") ? `[${at.host}]` : at.host}:${at.port}`;
}

/** Those of them that are addresses, in their one form: who sends them may write what it likes. */
export function usableAddresses(texts: readonly string[]): string[] {
  return texts.map(clusterAddressText).filter((address) => address !== null);
}

const API_FORM =
  /^https?:\/\/(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::[1-9]\d{0,4})?\/?$/;

/** Of the API of another cluster, as that one says: people read it, and copy commands with it. Empty for what is none. */
export function usableApiAddress(text: string): string {
  return API_FORM.test(text) ? text.replace(/\/$/, "") : "";
}

const CALLED = new ClusterAddresses();

/** The same of one that others are to call; empty where nobody has named one. Throws for what is none, or is called by nobody. */
export function namedAddress(text: string): string {
  if (text === "") return "";
  const address = clusterAddressText(text);
  const host = parseClusterAddress(text)?.host ?? "";
  if (address === null) throw addressUnusable();
  if (isUncalled(host)) throw addressUncalled();
  return address;
}

/** Of the cluster port itself, where nobody has named another one. */
export function assertCalled(text: string): void {
  if (!isCalled(text)) throw portUncalled();
}

/** Whether clusters would call it; false of an address that stands for no single host. */
export function isCalled(text: string): boolean {
  return !isUncalled(parseClusterAddress(text)?.host ?? "");
}

function isUncalled(host: string): boolean {
  return placeOf(host) !== null && CALLED.refusal(host) !== null;
}
