// What a dev server says of itself, with commands that work as they stand.

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
  /** `npx holdfast`, or the path of the program where npx would not find it. */
  readonly command: string;
}

export function showBanner(banner: Banner): string {
  const { address, authority, rootToken, tokenFile, tokenNote, command } = banner;
  const variables = [
    `HOLDFAST_ADDR=${quote(address)}`,
    ...(authority === null ? [] : [`HOLDFAST_CACERT=${quote(authority)}`]),
    ...(rootToken === null || tokenFile !== null ? [] : [`HOLDFAST_TOKEN=${quote(rootToken)}`]),
  ];
  const token = rootToken ?? "none: the bootstrap is open";
  const place =
    tokenFile === null ? (tokenNote ?? "") : `also in ${tokenFile}, where commands find it`;
  const lines = [
    `Holdfast ${banner.version} in development mode. Anyone on this machine may be its administrator: never`,
    "use it for real secrets.",
    "",
    `  Address     ${address}`,
    ...(authority === null ? [] : [`  Authority   ${authority}`]),
    `  Storage     ${banner.storage}`,
    `  Unseal key  ${banner.unsealKey}`,
    `  Root token  ${token}`,
    ...(place === "" ? [] : [`              (${place})`]),
    "",
    "Try it from another terminal:",
    "",
    `  export ${variables.join(" ")}`,
    `  ${command} status`,
    `  ${command} operator key-status`,
    "",
    "Stop with Ctrl-C.",
    "",
  ];
  return `\n${lines.join("\n")}\n`;
}

/** For a shell: as it stands where that is safe. */
export function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
