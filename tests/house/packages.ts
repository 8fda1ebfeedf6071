// What we take from others: exact versions, from the registry alone, with a checksum each, no code
// run at install time, and a reason written down for each.

export interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

export function readManifest(source: string): Manifest {
  const none = { dependencies: {}, devDependencies: {}, optionalDependencies: {} };
  return { ...none, ...(JSON.parse(source) as Partial<Manifest>) };
}

/** Direct dependencies, without our own workspaces. */
function directOf(source: string): [name: string, version: string][] {
  const { dependencies, devDependencies, optionalDependencies } = readManifest(source);
  const all = { ...dependencies, ...devDependencies, ...optionalDependencies };
  return Object.entries(all).filter(([name]) => !name.startsWith("@holdfast/"));
}

/** A range, a tag, an address or a folder would let another content in under the same line. */
export function exactVersions(path: string, source: string): string[] {
  return directOf(source)
    .filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.-]+)?$/.test(version))
    .map(([name, version]) => `${path}: ${name} has no exact version (${version})`);
}

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly workspaces?: readonly string[];
  readonly hasInstallScript?: boolean;
}

export function lockfile(path: string, source: string): string[] {
  const { packages } = JSON.parse(source) as { packages: Record<string, Locked> };
  const workspaces = packages[""]?.workspaces ?? [];
  return Object.entries(packages).flatMap(([name, entry]) => {
    if (name === "" || workspaces.includes(name)) return []; // ourselves
    if (entry.link === true && workspaces.includes(entry.resolved ?? "")) return [];
    const { version = "", resolved = "", integrity = "" } = entry;
    const wrong: string[] = [];
    if (!/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity)) wrong.push("has no sha512 checksum");
    if (!/^\d/.test(version)) wrong.push(`has no version (${version})`);
    if (entry.link === true) wrong.push("is a link to a folder");
    // Without "resolved" npm takes the registry it is set to; the checksum says what it may get.
    if (resolved !== "" && !resolved.startsWith("https://registry.npmjs.org/")) {
      wrong.push(`comes from elsewhere (${resolved})`);
    }
    if (entry.hasInstallScript === true) wrong.push("runs code when it is installed");
    return wrong.map((what) => `${path}: ${name} ${what}`);
  });
}

/** `docs/dependencies.md` names each direct dependency, in code quotes, and says why it is here. */
export function documented(manifestSource: string, path: string, page: string): string[] {
  return directOf(manifestSource)
    .filter(([name]) => !page.includes(`\`${name}\``))
    .map(([name]) => `${path}: does not say why we depend on ${name}`);
}
