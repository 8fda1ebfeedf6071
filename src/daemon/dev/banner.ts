// What a dev server says of itself, with commands that work as they stand.

import { shellWord } from "../../base/shell-text.ts";
import { broken } from "../../base/lines.ts";

export interface Banner {
  readonly version: string;
  readonly address: string;
  readonly authority: string | null; // path of the CA file, with TLS
  readonly storage: string;
  readonly unsealKey: string;
  readonly rootToken: string | null;
  /** Where the token was written; null when it was not, and then why. */
  readonly tokenFile: string | null;
  readonly tokenNote: string | null;
  /** The path of the program, as a shell takes it: it works from every directory. */
  readonly command: string;
  /** Where stand-ins for clouds show what they hold; empty when there are none. */
  readonly clouds: readonly string[];
  /** The other clusters. */
  readonly replicas: readonly BannerReplica[];
  /** Their names, where they are two. */
  readonly regions: { readonly first: string; readonly second: string };
}

interface BannerReplica {
  readonly name: string;
  readonly address: string;
  /** The file with a ticket for it; null: it is another region. */
  readonly ticket: string | null;
}

const INDENT = 14; // where the values of the table stand

function indented(line: string): string {
  return `${" ".repeat(INDENT)}${line}`;
}

function cloudLines({ clouds, command }: Banner): string[] {
  if (clouds.length === 0) return [];
  return [
    "",
    "Both clouds have stand-ins here. Make credentials, see what they stand for,",
    "and end them:",
    "",
    `  ${command} read clouda/creds/reader`,
    `  ${command} read cloudb/creds/app`,
    ...clouds.map((url) => `  curl -s ${shellWord(url)}`),
    // Over two lines, which a shell takes as one: with the path of the program it is a long one.
    `  ${command} exec clouda/creds/deploy -- \\`,
    "    sh -c 'env | grep AWS_'",
    `  ${command} lease revoke -yes -prefix clouda cloudb`,
  ];
}

/** Each line is one step, and works as it stands. */
function replicaLines(banner: Banner): string[] {
  const { replicas, regions, command, address } = banner;
  const [replica, ...more] = replicas;
  if (replica === undefined) return [];
  if (more.length > 0) return fourLines(banner);
  const [a = "", b = ""] = [address, replica.address].map((one) => `-address ${shellWord(one)}`);
  if (replica.ticket === null) return regionLines({ ...replica, regions, command, a, b });
  return [
    "",
    "A second cluster follows this one, for disaster recovery, with the same unseal",
    "key and root token:",
    "",
    `  Address     ${replica.address}`,
    `  Ticket      ${replica.ticket}`,
    "",
    "A failover in five commands: write, look, demote, promote, read there:",
    "",
    `  export HOLDFAST_DR_OPERATION_TOKEN="$(cat ${shellWord(replica.ticket)})"`,
    `  ${command} kv put ${a} secret/hello who=both`,
    `  ${command} replication failover -plan ${b}`,
    `  ${command} replication demote -yes ${a}`,
    `  ${command} replication promote ${b}`,
    `  ${command} kv get ${b} secret/hello`,
  ];
}

/** Each line is one step, and works as it stands. */
function fourLines({ replicas, regions: { first, second }, command, address }: Banner): string[] {
  const at = (one: string) => `-address ${shellWord(one)}`;
  const [standIn, region] = replicas;
  const [a, b, c] = [at(address), at(standIn?.address ?? ""), at(region?.address ?? "")];
  return [
    "",
    "Four clusters with one unseal key and root token. This one is the primary, in",
    `region ${first}; region ${second} shares its data; each has one that stands in for it:`,
    "",
    ...replicas.map((one) => `  ${one.name.padEnd(INDENT - 2)}${one.address}`),
    ...replicas.flatMap((one) =>
      one.ticket === null ? [] : [`  ${"Ticket".padEnd(INDENT - 2)}${one.ticket} (${one.name})`],
    ),
    "",
    `Look at all four, and write in region ${second}; then let who stands in for the primary`,
    `take its place, which region ${second} finds by itself; read there, and look again:`,
    "",
    `  ${command} replication status -topology ${a}`,
    `  ${command} kv put ${c} secret/hello who=four`,
    `  ${command} replication demote -yes ${a}`,
    `  ${command} replication promote ${b} -dr-token ${shellWord(standIn?.ticket ?? "")}`,
    `  ${command} kv get ${c} secret/hello`,
    `  ${command} replication status -topology ${c}`,
  ];
}

interface RegionPlaces {
  readonly address: string;
  readonly regions: { readonly first: string; readonly second: string };
  readonly command: string;
  readonly a: string;
  readonly b: string;
}

/** Each line is one step, and works as it stands. */
function regionLines({ address, regions: { first, second }, command, a, b }: RegionPlaces) {
  return [
    "",
    `This is region ${first}. A second cluster is region ${second}, which shares its data and has`,
    "the same unseal key and root token:",
    "",
    `  Address     ${address}`,
    "",
    `Write in region ${second}: region ${first} does it. Read there; make a token of all regions in`,
    `${second}, and list those of ${first} from ${second}; see how far apart they are:`,
    "",
    `  ${command} kv put ${b} secret/hello who=both`,
    `  ${command} kv get ${a} secret/hello`,
    `  ${command} acl token create ${b} -name all -type management -global`,
    `  ${command} acl token list ${b} -region ${first}`,
    `  ${command} replication status ${b}`,
  ];
}

export function showBanner(banner: Banner): string {
  const { address, authority, rootToken, tokenFile, tokenNote, command } = banner;
  const variables = [
    `HOLDFAST_ADDR=${shellWord(address)}`,
    ...(authority === null ? [] : [`HOLDFAST_CACERT=${shellWord(authority)}`]),
    ...(rootToken === null || tokenFile !== null ? [] : [`HOLDFAST_TOKEN=${shellWord(rootToken)}`]),
  ];
  const token = rootToken ?? "none: the bootstrap is open";
  const place =
    tokenFile === null ? (tokenNote ?? "") : `also in ${tokenFile}, where commands find it`;
  const lines = [
    `Holdfast ${banner.version} in development mode. Anyone on this machine may be its`,
    "administrator: never use it for real secrets.",
    "",
    `  Address     ${address}`,
    ...(authority === null ? [] : [`  Authority   ${authority}`]),
    `  Storage     ${banner.storage}`,
    `  Unseal key  ${banner.unsealKey}`,
    `  Root token  ${token}`,
    ...(place === "" ? [] : broken(`(${place})`, 80 - INDENT).map(indented)),
    "",
    "Try it from another terminal:",
    "",
    // Each on a line of its own: a long one would be broken by the terminal.
    ...variables.map((variable) => `  export ${variable}`),
    `  ${command} status`,
    `  ${command} kv put secret/hello who=world`,
    `  ${command} kv get secret/hello`,
    ...cloudLines(banner),
    ...replicaLines(banner),
    "",
    "Stop with Ctrl-C.",
    "",
  ];
  return `\n${lines.join("\n")}\n`;
}
