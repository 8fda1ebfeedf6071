// What a runtime must be to be kept: a name from a caller never becomes a program that operators have not named.

import type { RuntimeEntry } from "../ports.ts";
import { runtimeInvalid } from "./failures.ts";

/** What an entry that names none is run by. */
export const USUAL_OCI_RUNTIME = "runsc";

const MIN_CPU_NANOS = 10_000_000;
const MIN_MEMORY = 16 * 1024 * 1024;
const MAX_CGROUP = 256;
const OCI_RUNTIME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const CGROUP = /^(?:\/[A-Za-z0-9][A-Za-z0-9_.:@-]*)+$/;

/** `allowed`: names of runtimes that operators have named. */
export function checkRuntime(entry: RuntimeEntry, allowed: readonly string[]): void {
  const { ociRuntime, cgroupParent, cpuNanos, memoryBytes } = entry;
  if (cpuNanos < 0) throw runtimeInvalid("runtime cpu in nanos cannot be negative");
  if (memoryBytes < 0) throw runtimeInvalid("runtime memory in bytes cannot be negative");
  if (cpuNanos > 0 && cpuNanos < MIN_CPU_NANOS) {
    throw runtimeInvalid(`cpu_nanos must be 0 for no limit, or at least ${MIN_CPU_NANOS}`);
  }
  if (memoryBytes > 0 && memoryBytes < MIN_MEMORY) {
    throw runtimeInvalid(`memory_bytes must be 0 for no limit, or at least ${MIN_MEMORY}`);
  }
  const isName = OCI_RUNTIME.test(ociRuntime) && !ociRuntime.includes("..");
  if (ociRuntime !== "" && !(isName && allowed.includes(ociRuntime))) {
    throw runtimeInvalid(
      `oci_runtime must be one of those that plugin_oci_runtimes names in the configuration: ${allowed.join(", ")}`,
    );
  }
  if (cgroupParent !== "" && (cgroupParent.length > MAX_CGROUP || !CGROUP.test(cgroupParent))) {
    throw runtimeInvalid(
      "cgroup_parent must be an absolute path of a control group, such as /plugins",
    );
  }
}

/** Programs may be named by their whole paths: they are known by the last part. */
export function runtimeName(program: string): string {
  return program.slice(program.lastIndexOf("/") + 1);
}
